# Checks the unit for systemd: that every setting is one, and that little is left that the service may do.

# The exposure that systemd-analyze gives the unit, in tenths, may be this at most.
readonly most_exposed=15

check_systemd() {
    local unit=$checkout/deploy/systemd/holdfast.service copy=$service_folder/holdfast.service said stop
    if ! command -v systemd-analyze >/dev/null; then
        echo 'skipped: the unit for systemd is not checked, systemd is not installed'
        return
    fi
    sed "s|/usr/bin/holdfast|$HOLDFAST_BUILD/holdfast|" "$unit" >"$copy"
    if said=$(systemd-analyze verify "$copy" 2>&1) && [ -z "$said" ]; then pass; else fail 'systemd: the unit is right' "$said"; fi
    if said=$(systemd-analyze security --offline=true --threshold=$most_exposed "$copy" 2>&1); then
        pass
    else
        fail 'systemd: the unit is confined' "$said"
    fi
    echo 'Unknwn=yes' >>"$copy"
    if [ -n "$(systemd-analyze verify "$copy" 2>&1)" ]; then pass; else fail 'systemd: a mistake is found'; fi
    # The drain may be as long as the environment says; what follows it takes a minute at most.
    stop=$(sed -n 's/^TimeoutStopSec=//p' "$unit")
    if [ "$stop" -ge 70 ]; then pass; else fail 'systemd: there is time to drain, and to stop the private PostgreSQL'; fi
}
