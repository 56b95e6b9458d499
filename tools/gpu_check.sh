#!/usr/bin/env bash
# Everything that needs a GPU, in one call, on a machine that has one and nothing to install from: its Python (3.11 or newer)
# brings pytest, hypothesis, pluggy and NumPy, what builds the shim (nanobind, scikit-build-core, cmake, ninja, a compiler,
# jaxlib's headers), cuda-bindings and cuda-core, and torch and jax, of whatever versions. The pure packages are used from
# their sources.
#
#     OUT=results bash tools/gpu_check.sh
#
# Each stage has a time limit, and all of them together GPU_CHECK_SECONDS (570), so that what hangs costs its own share: first
# what is fast and tells most. Everything goes to the folder OUT (default: gpu_results), as soon as it is known: log.txt,
# outcomes.jsonl (a line for each test), truth_<target>.json (what the hardware gave, for the simulator's tests), launch.json
# (the benchmark), sanitizer.md (planted faults under compute-sanitizer), kernels/ (the kernels' benchmarks: a table, a plot,
# and a JSON file for each subject) and summary.json. The exit status says whether all of it went well. PYTHON names the
# interpreter (default: python3); GPU_CHECK_ONLY, a pattern, the stages that run beside `machine` and `build`:
# GPU_CHECK_ONLY='kernels_*', or 'kernels_attention', or '[tb]*' for all others.
# GPU_CHECK_WITHOUT names what cannot run here though it may be installed (`torch`, `jax`: the framework sees no GPU; `hardware`:
# the driver is a stand-in, so that nothing says how fast, or how, a GPU computes); it is left out, as a tool is that is not
# here (ncu, cuda-gdb, compute-sanitizer), and the summary says so: `nox -s gpu_rehearsal` runs all else without a GPU.
# GPU_CHECK_KERNEL_SECONDS (45) is how long the kernels of one subject are measured, if so much is left for each: with nothing
# else to run there is time for more. GPU_CHECK_KERNEL_SECONDS_norms is how long those of `norms` are. GPU_CHECK_PACK=1 leaves few files, where a machine gives back no more than that: log,
# summary, tables and plot, and everything else in results.tar.gz.
set -uo pipefail
cd "$(dirname "$0")/.."

OUT=$(realpath -m "${OUT:-gpu_results}")
export OUT PYTHONUNBUFFERED=1
python=${PYTHON:-python3}
ends=${GPU_CHECK_SECONDS:-570}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPYCACHEPREFIX=$work/pycache # compiled once for all stages, and nothing of it in the sources
mkdir -p "$OUT"
rm -f "$OUT"/{log.txt,outcomes.jsonl,launch.json,sanitizer.md,summary.json,results.tar.gz} "$OUT"/truth_*.json "$OUT"/kernels/*

# stage NAME SECONDS COMMAND...: run it within its limit and what is left of all; keep its output, its status and its time.
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
    # Not a pipe, which would last as long as any process that the command has left behind.
    timeout --kill-after=5 "$limit" "$@" </dev/null > >(tee -a "$OUT/log.txt") 2>&1
    status=$?
  fi
  printf '%s\t%s\t%d\n' "$name" "$status" $((SECONDS - begun)) >>"$work/stages.tsv"
}

# left_out NAME REASON...: a stage that cannot run here; no failure, but never silent.
left_out() {
  local name=$1
  shift
  # shellcheck disable=SC2254 # a pattern, on purpose
  case $name in ${GPU_CHECK_ONLY:-*}) printf '%s\tleft out: %s\t0\n' "$name" "$*" >>"$work/stages.tsv" ;; esac
}
without() { [[ " ${GPU_CHECK_WITHOUT:-} " == *" $1 "* ]]; }

# The toolkit's ptxas, where it is not on PATH; failing that, Triton's.
toolkit=${CUDA_HOME:-/usr/local/cuda}/bin
triton=$("$python" -c 'from importlib.util import find_spec as f; print(f("triton").submodule_search_locations[0])' 2>/dev/null)
PATH=$PATH:$toolkit:$triton/backends/nvidia/bin

# Plugins are found as entry points of an installation; sources have none, so there they are named.
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

# What is not here is left out, and the summary says so.
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

# tool_stage NAME SECONDS TOOL SWITCH: one of NVIDIA's tools over what this project makes, where the machine has it.
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
if without hardware; then unjudged=(--unjudged); fi # whatever machine this is, it is not the one that targets are about
stage benchmark 130 "$python" -m benchmarks.launch --json "$OUT/launch.json" "${unjudged[@]}" --without "${absent_frameworks[@]}"
run_listed test_jax:90 test_hardware_truth:60 test_hardware_products:90 test_bundles:40
for path in tests/gpu/test_*.py; do
  cut -f1 "$work/stages.tsv" | grep -qx "$(basename "$path" .py)" || run_tests "$(basename "$path" .py)" 60
done
tool_stage profiler 60 ncu --profile
tool_stage debugger 60 cuda-gdb --debug
tool_stage sanitizer 90 compute-sanitizer --sanitize
if without hardware; then left_out "hardware truth" "a stand-in for the driver says nothing of hardware"; fi

# A process for each subject: what hangs or breaks the context costs its own share. Those to come get theirs of what is left.
plot=()
"$python" -c 'import matplotlib' 2>/dev/null || plot=(--no-plot)
more=20 # seconds to start in, and to end in with the last case
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
  [ -z "${!own:-}" ] || sharing=1 # its time is its own
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
