# Checks that the README's table of flags is what `holdfast serve --help` says: the same flags, the same defaults.

flags_of_readme() {
    sed -n 's/^| `\(--[a-z-]*\)\( [A-Z:]*\)\{0,1\}` | \(off\|`\([^`]*\)`\)\{0,1\} *|.*/\1\2 \4/p' "$checkout/README.md"
}

# Help gives a flag on one line and its variable and default in brackets below.
flags_of_help() {
    "$HOLDFAST_BUILD/holdfast" serve --help |
        sed -n 's/^  \(--[a-z-]*\( [A-Z:]*\)\{0,1\}\)  .*/\1/p; s/^ *\[HOLDFAST_[A-Z_]*\(, default \(.*\)\)\{0,1\}\]$/\2/p' |
        paste -d ' ' - -
}

check_flags() {
    local difference
    if difference=$(diff <(flags_of_readme | sed 's/ *$//' | sort) <(flags_of_help | sed 's/ *$//' | sort)); then
        pass
    else
        fail 'the README has the flags and defaults of holdfast serve --help' "$difference"
    fi
}
