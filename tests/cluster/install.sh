#!/bin/sh
# SLURM's daemons for `make test-cluster`, from the system's packages, and Azure's emulator from
# npm: quietly, where root may, and never a failure: tests whose programs are missing say so and
# are skipped.
command -v azurite-blob > /dev/null || ! command -v npm > /dev/null \
    || timeout 300 npm install --global --silent azurite@3.37.0 > /dev/null 2>&1 \
    || echo "not installed: azurite; tests that need it are skipped"
command -v apt-get > /dev/null || exit 0
[ "$(id -u)" = 0 ] || exit 0
PATH="$PATH:/usr/sbin"
command -v slurmctld > /dev/null && command -v slurmd > /dev/null && command -v sbatch > /dev/null \
    && command -v munged > /dev/null && exit 0
export DEBIAN_FRONTEND=noninteractive
packages="slurmctld slurmd slurm-client munge"
timeout 120 apt-get install -qq -y --no-install-recommends $packages > /dev/null 2>&1 \
    || { timeout 120 apt-get update -qq && timeout 180 apt-get install -qq -y --no-install-recommends $packages; } \
    > /dev/null 2>&1 || echo "not installed: $packages; tests that need them are skipped"
exit 0
