# Draws a table with a line of column names as an SVG of small charts over one x axis, readable on light and dark pages.
#   awk -F '\t' [-v description=FILE] [-v note=TEXT] -f chart.awk TABLE
# A cell that is no number leaves a gap. Without a description every column but the first is a chart of its own, in linear axes.
# A description has a line for each of these, with its words separated by tabs:
#   title TEXT
#   size ACROSS WIDTH HEIGHT              charts beside each other, and the size of each in pixels
#   x TEXT SCALE UNIT                     SCALE is log or linear; UNIT is count, bytes, us or plain
#   chart TEXT SCALE UNIT
#   line COLUMN TEXT COLOUR [dashed]      of the chart above; COLOUR is 1 or 2

function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}

function is_number(cell) {
    return cell ~ /^-?[0-9]+(\.[0-9]+)?$/
}

function digits(number) {
    return sprintf("%.4g", number)
}

function worded(number, unit) {
    if (number == 0) return "0"
    if (unit == "bytes") {
        if (number >= 1048576) return digits(number / 1048576) " MiB"
        return number >= 1024 ? digits(number / 1024) " KiB" : digits(number) " B"
    }
    if (unit == "us") {
        if (number >= 1000000) return digits(number / 1000000) " s"
        return number >= 1000 ? digits(number / 1000) " ms" : digits(number) " µs"
    }
    if (unit == "count") {
        if (number >= 1000000) return digits(number / 1000000) "M"
        return number >= 1000 ? digits(number / 1000) "k" : digits(number)
    }
    return sprintf("%.6g", number)
}

function add_chart(text, scale, unit) {
    charts++
    chart_text[charts] = text
    chart_scale[charts] = scale
    chart_unit[charts] = unit
}

function add_line(column, text, colour, dashed) {
    lines++
    line_chart[lines] = charts
    line_column[lines] = column
    line_text[lines] = text
    line_class[lines] = "line colour" colour (dashed ? " dashed" : "")
}

function read_description(file,    text, part, known) {
    while ((known = getline text <file) > 0) {
        split(text, part, "\t")
        if (part[1] == "title") title = part[2]
        else if (part[1] == "size") { across = part[2]; width = part[3]; height = part[4] }
        else if (part[1] == "x") { x_text = part[2]; x_scale = part[3]; x_unit = part[4] }
        else if (part[1] == "chart") add_chart(part[2], part[3], part[4])
        else if (part[1] == "line") add_line(part[2], part[3], part[4], part[5] == "dashed")
        else fail("the description does not understand: " text)
    }
    if (known < 0) fail("there is no description " file)
}

function describe_columns(    i) {
    x_text = name[1]
    for (i = 2; i <= columns; i++) {
        add_chart(name[i], "linear", "plain")
        add_line(name[i], "", 1, 0)
    }
}

function fail(text) {
    failed = 1
    print "chart.awk: " text >"/dev/stderr"
    exit 1
}

# The greatest of 1, 2, 5, 10, 20 ... (and 0.5, 0.2 ...) that is not above the number.
function step_below(number,    decade) {
    decade = 10 ^ floor(log(number) / log(10) + 1e-9)
    if (number >= 5 * decade * (1 - 1e-9)) return 5 * decade
    return number >= 2 * decade * (1 - 1e-9) ? 2 * decade : decade
}

function step_after(step) {
    return step_below(step * 2.5 * (1 + 1e-9))
}

function floor(number) {
    return number < 0 && number != int(number) ? int(number) - 1 : int(number)
}

# Sets `from`, `to` and `tick`, about `wanted` of them in a linear axis, so that all from `least` to `most` is shown.
function scale_axis(scale, least, most, wanted,    step, i) {
    tick_count = 0
    if (scale == "log") {
        from = step_below(least)
        for (to = step_below(most); to < most; ) to = step_after(to)
        if (to <= from) to = step_after(from)
        for (step = from; step <= to * (1 + 1e-9); step = step_after(step))
            if (log(to / from) < 2.5 * log(10) || step_below(step) == 10 ^ floor(log(step) / log(10) + 1e-9))
                tick[++tick_count] = step
    } else {
        from = 0
        to = most > 0 ? most * 1.1 : 1
        step = step_below(to / wanted)
        if (step < to / wanted) step = step_after(step)
        for (i = 0; i * step <= to; i++) tick[++tick_count] = i * step
    }
}

# Where a number is between `from` and `to`, from 0 to 1.
function placed(number, scale) {
    return scale == "log" ? log(number / from) / log(to / from) : (number - from) / (to - from)
}

function drawable(row, column, scale) {
    return is_number(cell[row, column]) && (scale != "log" || cell[row, column] > 0)
}

# Where x is, for each row, and its ticks: the rows themselves where they are few and far between.
function place_x(    row, i) {
    from = x_scale == "log" ? cell[1, 1] : 0
    to = cell[rows, 1]
    if (x_scale != "log") scale_axis("linear", 0, to, width / 60)
    if (x_scale != "log") to = cell[rows, 1] > 0 ? cell[rows, 1] : 1
    if (to <= from) to = from * 10
    for (row = 1; row <= rows; row++) x_at[row] = width * placed(cell[row, 1], x_scale)
    x_ticks = 0
    if (x_scale == "log") {
        for (row = 1; row <= rows; row++) { x_tick_at[++x_ticks] = x_at[row]; x_tick[x_ticks] = worded(cell[row, 1], x_unit) }
        return
    }
    for (i = 1; i <= tick_count; i++) if (tick[i] <= to) {
        x_tick_at[++x_ticks] = width * placed(tick[i], x_scale)
        x_tick[x_ticks] = worded(tick[i], x_unit)
    }
}

function text_at(x, y, class, text) {
    printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class, escaped(text)
}

function straight(class, x1, y1, x2, y2) {
    printf "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", class, x1, y1, x2, y2
}

# Sets from, to and ticks of a chart's y axis.
function scale_chart(chart,    i, row, number, least, most) {
    least = most = ""
    for (i = 1; i <= lines; i++) if (line_chart[i] == chart)
        for (row = 1; row <= rows; row++) if (drawable(row, index_of[line_column[i]], chart_scale[chart])) {
            number = cell[row, index_of[line_column[i]]] + 0
            if (least == "" || number < least) least = number
            if (most == "" || number > most) most = number
        }
    if (least == "") least = most = 1
    scale_axis(chart_scale[chart], least, most, height / 25)
}

function draw_axes(chart, left, top,    i, y) {
    for (i = 1; i <= tick_count; i++) {
        y = top + height * (1 - placed(tick[i], chart_scale[chart]))
        straight("grid", left, y, left + width, y)
        text_at(left - 6, y + 4, "tick end", worded(tick[i], chart_unit[chart]))
    }
    for (i = 1; i <= x_ticks; i++) {
        straight("grid", left + x_tick_at[i], top + height, left + x_tick_at[i], top + height + 4)
        text_at(left + x_tick_at[i], top + height + 16, "tick middle", x_tick[i])
    }
    text_at(left + width / 2, top + height + 32, "tick middle", x_text)
}

function draw_line(line, left, top,    row, column, scale, y, path, dots, joined) {
    column = index_of[line_column[line]]
    scale = chart_scale[line_chart[line]]
    for (row = 1; row <= rows; row++) {
        if (!drawable(row, column, scale)) {
            joined = 0
            continue
        }
        y = top + height * (1 - placed(cell[row, column], scale))
        path = path sprintf("%s%.1f %.1f", joined ? "L" : "M", left + x_at[row], y)
        dots = dots sprintf("<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n", line_class[line], left + x_at[row], y)
        joined = 1
    }
    if (path == "") return
    printf "<path class=\"%s\" d=\"%s\"/>\n", line_class[line], path
    if (rows <= 20) printf "%s", dots # of many rows each is too near to the next
}

# The names of a chart's lines, two beside each other; gives how many rows of them there are.
function draw_legend(chart, left, top,    i, shown, x, y) {
    for (i = 1; i <= lines; i++) if (line_chart[i] == chart && line_text[i] != "") {
        x = left + shown % 2 * width / 2
        y = top + int(shown / 2) * 16
        straight(line_class[i], x, y - 4, x + 24, y - 4)
        text_at(x + 30, y, "name", line_text[i])
        shown++
    }
}

function legend_rows(    i, shown, most) {
    for (i = 1; i <= lines; i++) if (line_text[i] != "" && ++shown[line_chart[i]] > most) most = shown[line_chart[i]]
    return int((most + 1) / 2)
}

function draw_chart(chart, left, top, legend_height) {
    text_at(left, top + 14, "heading", chart_text[chart])
    draw_legend(chart, left, top + 32)
    scale_chart(chart)
    draw_axes(chart, left, top + 24 + legend_height)
    for (i = 1; i <= lines; i++) if (line_chart[i] == chart) draw_line(i, left, top + 24 + legend_height)
}

function print_style() {
    print "<style>"
    print "text { fill: #1f2328; font: 12px sans-serif } .name { font-size: 11px } .title { font-size: 15px; font-weight: 600 } .heading { font-weight: 600 }"
    print ".tick, .note { fill: #59636e; font-size: 10.5px } .middle { text-anchor: middle } .end { text-anchor: end }"
    print ".back { fill: #ffffff } .grid { stroke: #d1d9e0; fill: none } .line { stroke-width: 2; fill: none }"
    print ".dashed { stroke-dasharray: 5 3 } .colour1 { stroke: #0550ae } .colour2 { stroke: #bc4c00 }"
    print "circle.line { stroke-dasharray: none } circle.colour1 { fill: #0550ae } circle.colour2 { fill: #bc4c00 }"
    print "@media (prefers-color-scheme: dark) {"
    print "text { fill: #f0f6fc } .tick, .note { fill: #9198a1 } .back { fill: #0d1117 } .grid { stroke: #3d444d }"
    print ".colour1 { stroke: #79b8ff } .colour2 { stroke: #ffa657 } circle.colour1 { fill: #79b8ff } circle.colour2 { fill: #ffa657 }"
    print "}"
    print "</style>"
}

BEGIN {
    title = ""; across = 1; width = 640; height = 90; x_scale = "linear"; x_unit = "plain"
    if (description != "") read_description(description)
}

NR == 1 {
    columns = NF
    for (i = 1; i <= NF; i++) {
        name[i] = $i
        index_of[$i] = i
    }
    next
}

{
    rows++
    for (i = 1; i <= NF; i++) cell[rows, i] = $i
}

END {
    if (failed) exit 1
    if (!rows) fail("the table has no rows")
    if (description == "") describe_columns()
    for (i = 1; i <= lines; i++) if (!(line_column[i] in index_of)) fail("the table has no column " line_column[i])
    margin = 62 # for the words beside the y axis
    legend_height = legend_rows() * 16
    each_height = height + legend_height + 78
    first = title == "" ? 8 : 36
    whole_width = across * (margin + width + 22)
    whole_height = first + int((charts + across - 1) / across) * each_height + (note == "" ? 0 : 18)
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
        whole_width, whole_height, whole_width, whole_height
    if (title != "") printf "<title>%s</title>\n", escaped(title)
    print_style()
    print "<rect class=\"back\" width=\"100%\" height=\"100%\" rx=\"6\"/>"
    if (title != "") text_at(14, 24, "title", title)
    place_x()
    for (chart = 1; chart <= charts; chart++)
        draw_chart(chart, (chart - 1) % across * (margin + width + 22) + margin, first + int((chart - 1) / across) * each_height,
            legend_height)
    if (note != "") text_at(14, whole_height - 10, "note", note)
    print "</svg>"
}
