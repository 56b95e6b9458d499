#!/usr/bin/env bash
# Run everything that needs a GPU, in one call, on a machine with a GPU and without a package index. Its Python (3.11 or
# newer) must have pytest, hypothesis, pluggy and NumPy, the build requirements of the native extension (nanobind,
# scikit-build-core, cmake, ninja, a compiler, jaxlib's headers), cuda-bindings and cuda-core, and any versions of torch
# and jax. The pure packages are used from their sources.
#
#     OUT=results bash tools/gpu_check.sh
#
# Each stage has a time limit, and all together have GPU_CHECK_SECONDS (570): a stage that hangs costs only its own share.
# The fastest and most informative stages run first. Results go to the folder OUT (default: gpu_results) as soon as they are
# known: log.txt, outcomes.jsonl (a line per test), truth_<target>.json (results of the hardware, for the simulator's
# tests), launch.json (the benchmark), sanitizer.md (injected faults with compute-sanitizer), kernels/ (the kernels'
# benchmarks: a table, a plot, and a JSON file per subject) and summary.json. The exit status is 0 if all stages succeeded.
# PYTHON is the interpreter (default: python3). GPU_CHECK_ONLY is a pattern of the stages to run besides `machine` and
# `build`: GPU_CHECK_ONLY='kernels_*', or 'kernels_attention', or '[tb]*' for all others.
# GPU_CHECK_WITHOUT lists what cannot run here even if it is installed. `torch`, `jax`: the framework has no GPU. `hardware`:
# the driver is a replacement, so neither times nor results are those of a GPU. These stages are left out, like those of
# missing tools (ncu, cuda-gdb, compute-sanitizer), and the summary lists them: `nox -s gpu_rehearsal` runs the others
# without a GPU.
# GPU_CHECK_KERNEL_SECONDS (45) is the time to measure the kernels of one subject, if that much is left for each; it can be
# longer if no other stages run. GPU_CHECK_KERNEL_SECONDS_norms is that time for `norms`. GPU_CHECK_PACK=1 leaves few files,
# for machines that return only few: log, summary, tables and plot, and everything else in results.tar.gz.
set -uo pipefail
cd "$(dirname "$0")/.."

OUT=$(realpath -m "${OUT:-gpu_results}")
export OUT PYTHONUNBUFFERED=1
python=${PYTHON:-python3}
ends=${GPU_CHECK_SECONDS:-570}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPYCACHEPREFIX=$work/pycache # compiled once for all stages, outside the sources
mkdir -p "$OUT"
rm -f "$OUT"/{log.txt,outcomes.jsonl,launch.json,sanitizer.md,summary.json,results.tar.gz} "$OUT"/truth_*.json "$OUT"/kernels/*

# stage NAME SECONDS COMMAND...: run the command within its limit and the remaining time; record output, status and time.
stage() {
  local name=$1 limit=$2 begun=$SECONDS status
  shift 2
  # shellcheck disable=SC2254 # a pattern, on purpose
  case $name in machine | build | ${GPU_CHECK_ONLY:-*}) ;; *) return ;; esac
  [ "$limit" -le $((ends - SECONDS)) ] || limit=$((ends - SECONDS))
  printf '\n== %s (%d s at most)\n' "$name" "$limit" | tee -a "$OUT/log.txt"
  if [ "$limit" -lt 5 ]; then
    status=late
  else
    # Not a pipe, which would stay open as long as any process that the command started.
    timeout --kill-after=5 "$limit" "$@" </dev/null > >(tee -a "$OUT/log.txt") 2>&1
    status=$?
  fi
  printf '%s\t%s\t%d\n' "$name" "$status" $((SECONDS - begun)) >>"$work/stages.tsv"
}

# left_out NAME REASON...: record a stage that cannot run here, which is not a failure.
left_out() {
  local name=$1
  shift
  # shellcheck disable=SC2254 # a pattern, on purpose
  case $name in ${GPU_CHECK_ONLY:-*}) printf '%s\tleft out: %s\t0\n' "$name" "$*" >>"$work/stages.tsv" ;; esac
}
without() { [[ " ${GPU_CHECK_WITHOUT:-} " == *" $1 "* ]]; }

# If ptxas is not on PATH, use the toolkit's, or else Triton's.
toolkit=${CUDA_HOME:-/usr/local/cuda}/bin
triton=$("$python" -c 'from importlib.util import find_spec as f; print(f("triton").submodule_search_locations[0])' 2>/dev/null)
PATH=$PATH:$toolkit:$triton/backends/nvidia/bin

# Installed plugins are found by entry points; sources have none, so plugins are named here.
plugins=()
PYTHONPATH=$work/site${PYTHONPATH:+:$PYTHONPATH}
for source in packages/*/src; do
  [ "$source" = packages/pyptx-launch/src ] || PYTHONPATH=$PYTHONPATH:$PWD/$source
  for plugin in "$source"/*/plugin.py; do
    [ -e "$plugin" ] && plugins+=("$(basename "$(dirname "$plugin")").plugin")
  done
done
export PATH PYTHONPATH PYPTX_DISABLE_PLUGIN_AUTOLOAD=1
PYPTX_PLUGINS=$(IFS=, && echo "${plugins[*]}")
export PYPTX_PLUGINS

# Stages of missing packages are left out, and the summary lists them.
wanted=$("$python" tools/gpu_summary.py --select)
absent=" $("$python" tools/gpu_summary.py --absent) "
run_tests() {
  local framework=${1#test_}
  framework=${framework%%_*}
  if [[ $absent == *" $framework "* ]]; then
    left_out "$1" "no $framework on a GPU here"
    return
  fi
  stage "$1" "$2" "$python" -m pytest --gpu -v -p no:cacheprovider -o minversion=7 -o faulthandler_timeout=60 -W default \
    --tb=short -m "$wanted" "tests/gpu/$1.py"
}

stage machine 60 "$python" tools/gpu_summary.py --machine
stage build 120 "$python" -m pip install --quiet --no-index --no-build-isolation --no-deps --no-cache-dir \
  --disable-pip-version-check --root-user-action=ignore --config-settings=build-dir="$work/build" --target "$work/site" \
  ./packages/pyptx-launch

run_listed() {
  for each in "$@"; do
    [ -e "tests/gpu/${each%:*}.py" ] && run_tests "${each%:*}" "${each#*:}"
  done
}

# tool_stage NAME SECONDS TOOL SWITCH: run one of NVIDIA's tools on kernels of this project, if the machine has it.
tool_stage() {
  if [ -z "$(command -v "$3")" ]; then
    left_out "$1" "no $3 here"
  elif without hardware; then
    left_out "$1" "$3 needs a GPU"
  else
    stage "$1" "$2" "$python" tools/gpu_tools.py "$4"
  fi
}

run_listed test_launch:60 test_tensor_maps:40 test_launch_errors:70 test_streams:60 test_torch:120 test_torch_streams:60
read -ra absent_frameworks <<<"$absent"
unjudged=()
if without hardware; then unjudged=(--unjudged); fi # the targets are not for this machine
stage benchmark 130 "$python" -m benchmarks.launch --json "$OUT/launch.json" "${unjudged[@]}" --without "${absent_frameworks[@]}"
run_listed test_jax:90 test_hardware_truth:60 test_hardware_mma:90 test_bundles:40
for path in tests/gpu/test_*.py; do
  cut -f1 "$work/stages.tsv" | grep -qx "$(basename "$path" .py)" || run_tests "$(basename "$path" .py)" 60
done
tool_stage profiler 60 ncu --profile
tool_stage debugger 60 cuda-gdb --debug
tool_stage sanitizer 90 compute-sanitizer --sanitize
if without hardware; then left_out "hardware truth" "a stand-in for the driver says nothing of hardware"; fi

# One process per subject: one that hangs or breaks the context costs only its own share. Later ones share the rest.
plot=()
"$python" -c 'import matplotlib' 2>/dev/null || plot=(--no-plot)
more=20 # seconds to start, and to finish the last case
subjects=()
for path in benchmarks/kernels/cases/[!_]*.py; do
  name=kernels_$(basename "$path" .py)
  # shellcheck disable=SC2254 # a pattern, on purpose
  case $name in ${GPU_CHECK_ONLY:-*}) subjects+=("${name#kernels_}") ;; esac
done
left=${#subjects[@]}
for subject in "${subjects[@]}"; do
  if without hardware || without torch; then
    left_out "kernels_$subject" "the benchmarks need torch on a GPU"
    continue
  fi
  own=GPU_CHECK_KERNEL_SECONDS_$subject
  seconds=${!own:-${GPU_CHECK_KERNEL_SECONDS:-45}}
  sharing=$left
  [ -z "${!own:-}" ] || sharing=1 # it has its own time
  share=$(((ends - SECONDS) / sharing - more))
  [ "$seconds" -le "$share" ] || seconds=$share
  [ "$seconds" -ge 5 ] || seconds=-$more # too late
  stage "kernels_$subject" $((seconds + more)) \
    "$python" -m benchmarks.kernels "$subject" --seconds "$seconds" --out "$OUT/kernels" "${plot[@]}"
  left=$((left - 1))
done

"$python" tools/gpu_summary.py --write "$work/stages.tsv"
status=$?
if [ "${GPU_CHECK_PACK:-0}" = 1 ]; then
  cd "$OUT" || exit 1
  shopt -s nullglob
  rest=(outcomes.json[l] truth_*.json launch.jso[n] kernels/*.json)
  [ ${#rest[@]} -eq 0 ] || { tar -czf results.tar.gz "${rest[@]}" && rm "${rest[@]}"; }
fi
exit "$status"
