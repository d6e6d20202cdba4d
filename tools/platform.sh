# Sourced by tools/train, tools/test and tools/gpu-report: finds nvcc and a GPU, and builds a preset.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The compiler of the CUDA toolkit, or nothing.
find_nvcc() {
  local candidate
  for candidate in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    [ -n "$candidate" ] && [ -x "$candidate" ] && { echo "$candidate"; return; }
  done
}

nvcc=$(find_nvcc)
has_gpu=false
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then has_gpu=true; fi

# Which preset this machine runs, and why.
if [ -n "$nvcc" ] && $has_gpu; then
  preset=cuda
  preset_reason="nvcc and a GPU are here"
elif [ -n "$nvcc" ]; then
  preset=cpu
  preset_reason="nvcc is here, a GPU is not: the kernels run on the CPU executor"
elif $has_gpu; then
  preset=cpu
  preset_reason="a GPU is here, nvcc is not: the kernels run on the CPU executor"
else
  preset=cpu
  preset_reason="no nvcc and no GPU: the kernels run on the CPU executor"
fi
[ -n "$nvcc" ] && export CUDACXX=$nvcc

# build PRESET [TARGET...]: configures where that has not been done, and builds; shows the output only when it fails.
build() {
  local name=$1 log
  shift
  log=$(mktemp)
  (
    cd "$root"
    if [ -f "build/$name/build.ninja" ] || cmake --preset "$name"; then
      cmake --build --preset "$name" ${1:+--target "$@"}
    fi
  ) >"$log" 2>&1 || { tail -n 60 "$log" >&2; rm -f "$log"; echo "building preset $name failed" >&2; return 1; }
  rm -f "$log"
}
