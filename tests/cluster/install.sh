#!/bin/sh
# SLURM's daemons and Chromium for `make test-cluster`, from the system's packages, and Azure's
# emulator from npm: quietly, where root may, and never a failure: tests whose programs are missing
# say so and are skipped.
command -v azurite-blob > /dev/null || ! command -v npm > /dev/null \
    || timeout 300 npm install --global --silent azurite@3.37.0 > /dev/null 2>&1 \
    || echo "not installed: azurite; tests that need it are skipped"
command -v apt-get > /dev/null || exit 0
[ "$(id -u)" = 0 ] || exit 0
PATH="$PATH:/usr/sbin"
export DEBIAN_FRONTEND=noninteractive

install_quietly() {
    timeout 180 apt-get install -qq -y --no-install-recommends "$@" > /dev/null 2>&1 \
        || { timeout 120 apt-get update -qq && timeout 180 apt-get install -qq -y --no-install-recommends "$@"; } \
        > /dev/null 2>&1 || echo "not installed: $*; tests that need it are skipped"
}

command -v slurmctld > /dev/null && command -v slurmd > /dev/null && command -v sbatch > /dev/null \
    && command -v munged > /dev/null || install_quietly slurmctld slurmd slurm-client munge
command -v chromium > /dev/null || command -v chromium-browser > /dev/null || install_quietly chromium
exit 0
