# Draws the samples of a soak as small charts under each other, in SVG: awk -F, -f chart.awk samples.csv
NR == 1 {
    for (i = 2; i <= NF; i++) name[i] = $i
    fields = NF
    next
}
{
    rows++
    x[rows] = $1
    for (i = 2; i <= NF; i++) {
        y[rows, i] = $i
        if ($i > most[i]) most[i] = $i
    }
}
END {
    width = 640; height = 90; left = 150; gap = 26
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n",
        left + width + 30, (fields - 1) * (height + gap) + 40
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    for (i = 2; i <= fields; i++) {
        top = (i - 2) * (height + gap) + 10
        scale = most[i] > 0 ? most[i] * 1.1 : 1
        printf "<text x=\"8\" y=\"%d\">%s</text><text x=\"8\" y=\"%d\" fill=\"#666\">at most %s</text>\n", top + 20, name[i],
            top + 38, most[i]
        printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#ccc\"/>\n", left, top, width, height
        printf "<polyline fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"1.5\" points=\""
        for (r = 1; r <= rows; r++)
            printf "%.1f,%.1f ", left + width * x[r] / x[rows], top + height - height * y[r, i] / scale
        print "\"/>"
    }
    printf "<text x=\"%d\" y=\"%d\" fill=\"#666\">0 to %.1f minutes</text>\n</svg>\n", left, (fields - 1) * (height + gap) + 24, x[rows]
}
