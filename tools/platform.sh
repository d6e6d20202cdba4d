# Sourced by tools/train, tools/test and tools/gpu-report: finds nvcc and a GPU, and builds a preset.
# Sets: root, nvcc (a CUDA compiler that is new enough, or nothing), has_gpu, preset, preset_reason.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The compiler of the CUDA toolkit, or nothing.
find_nvcc() {
  local candidate
  for candidate in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    if [ -n "$candidate" ] && [ -x "$candidate" ]; then
      echo "$candidate"
      return
    fi
  done
}

nvcc_wanted=12.8
nvcc=$(find_nvcc)
nvcc_state="nvcc is not"
if [ -n "$nvcc" ]; then
  nvcc_version=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p' || true)
  if [ -z "$nvcc_version" ]; then
    nvcc_state="$nvcc does not run"
    nvcc=
    unset CUDACXX
  elif [ "$(printf '%s\n' "$nvcc_wanted" "$nvcc_version" | sort -V | head -n 1)" = "$nvcc_wanted" ]; then
    nvcc_state="nvcc is here"
    export CUDACXX=$nvcc
  else
    nvcc_state="nvcc is $nvcc_version and $nvcc_wanted is needed"
    nvcc=
    unset CUDACXX
  fi
fi
has_gpu=false
if command -v nvidia-smi >/dev/null && [[ $(nvidia-smi -L 2>/dev/null || true) == GPU* ]]; then has_gpu=true; fi

# Which preset this machine runs, and why.
if [ -n "$nvcc" ] && $has_gpu; then
  preset=cuda
  preset_reason="nvcc and a GPU are here"
else
  preset=cpu
  $has_gpu && gpu_state="a GPU is here" || gpu_state="no GPU is"
  preset_reason="$nvcc_state, $gpu_state: the kernels run on the CPU executor"
fi

# build PRESET [TARGET...]: configures and builds; shows the output only when it fails. $configure_options goes to
# the configuration.
build() {
  local name=$1 log folder=$root/build/$1 cached
  shift
  log=$(mktemp)
  # A build folder that came here with a copied or moved checkout would build the old place.
  cached=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt" 2>/dev/null || true)
  if [ -n "$cached" ] && [ "$cached" != "$root" ]; then rm -rf "$folder"; fi
  if (cd "$root" && cmake --preset "$name" ${configure_options:-} && cmake --build --preset "$name" ${1:+--target "$@"}) >"$log" 2>&1; then
    rm -f "$log"
  else
    tail -n 60 "$log" >&2
    rm -f "$log"
    echo "building preset $name failed" >&2
    return 1
  fi
}
