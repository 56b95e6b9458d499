#!/usr/bin/env bash
# Everything that needs a GPU, in one call, on a machine that has one: a driver, Python 3.11 or newer with pytest, hypothesis,
# pluggy and NumPy, and nothing to install from. The packages are used from their sources. What is measured and recorded
# goes to the folder OUT (default: gpu_results).
#
#     OUT=results bash tools/gpu_check.sh [pytest's arguments]
set -uo pipefail
cd "$(dirname "$0")/.."

export OUT="${OUT:-gpu_results}"
mkdir -p "$OUT"
for package in packages/*; do PYTHONPATH="$PWD/$package/src${PYTHONPATH:+:$PYTHONPATH}"; done
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1

failed=0

{
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv
  python3 --version
  python3 -m pip list 2>/dev/null | grep -iE '^(torch|jax|jaxlib|numpy|pytest|hypothesis|pluggy|cuda-)' || true
} | tee "$OUT/machine.txt"

# Plugins are found as entry points of an installation; sources have none, so there they are named.
python3 -c 'from importlib.metadata import distribution; distribution("pyptx-sim")' 2>/dev/null ||
  export PYPTX_PLUGINS="${PYPTX_PLUGINS:-pyptx_dsl.plugin,pyptx_sim.plugin,pyptx_arch_hopper.plugin,pyptx_arch_blackwell.plugin}"

python3 -m pytest --gpu -p no:cacheprovider -o "minversion=7" tests/gpu "$@" 2>&1 | tee "$OUT/tests.txt" || failed=1

for benchmark in benchmarks/bench_*.py; do
  [ -e "$benchmark" ] || continue
  python3 "$benchmark" 2>&1 | tee "$OUT/$(basename "$benchmark" .py).txt" || failed=1
done

exit "$failed"
