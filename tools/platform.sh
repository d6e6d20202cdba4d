# Sourced by tools/train, tools/test and tools/gpu-report: finds nvcc and a GPU, and builds a preset.
# Sets: root, nvcc (a CUDA compiler that is new enough, or nothing), has_gpu, preset, preset_reason, and
# architectures, the GPU architectures of the preset cuda: CUDAARCHS if it is set, else those of the GPUs.

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
if command -v nvidia-smi >/dev/null && [[ $(nvidia-smi -L 2>/dev/null || true) == GPU* ]]; then
  has_gpu=true
fi

# The architectures of this machine's GPUs that nvcc supports, in the format of CMAKE_CUDA_ARCHITECTURES. For
# a GPU newer than nvcc it is the newest supported one before it, whose PTX the driver compiles.
oldest_architecture=75
find_architectures() {
  local capability architecture best found=()
  for capability in $(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    tr -d . | sort -nu); do
    [[ $capability =~ ^[0-9]+$ ]] && [ "$capability" -ge $oldest_architecture ] || continue
    best=
    for architecture in $("$nvcc" --list-gpu-arch | sed -n 's/^compute_\([0-9]*\)$/\1/p' | sort -n); do
      [ "$architecture" -le "$capability" ] && best=$architecture
    done
    if [ "$best" = "$capability" ]; then found+=("$best-real"); elif [ -n "$best" ]; then found+=("$best"); fi
  done
  (IFS=";"; echo "${found[*]}")
}

# The preset of this machine, the reason, and the architectures. Without a GPU a single architecture checks
# that everything compiles: 9.0, because it also includes the conditional parts.
architectures=90-real
if [ -n "$nvcc" ] && $has_gpu; then
  architectures=$(find_architectures)
fi
if [ -n "$nvcc" ] && $has_gpu && [ -n "$architectures" ]; then
  preset=cuda
  preset_reason="nvcc and a GPU are here (architecture ${architectures//-real/})"
elif [ -n "$nvcc" ] && $has_gpu; then
  preset=cpu
  architectures=90-real
  preset_reason="no GPU here is of compute capability 7.5 or newer: the kernels run on the CPU executor"
else
  preset=cpu
  $has_gpu && gpu_state="a GPU is here" || gpu_state="no GPU is"
  preset_reason="$nvcc_state, $gpu_state: the kernels run on the CPU executor"
fi
architectures=${CUDAARCHS:-$architectures}

# Shows the compiler warnings of a successful build; at most 100 lines, the log has all.
show_warnings() {
  local log=$1 text lines
  text=$(grep -vE '^(\[ *[0-9]+[/%]|ninja: |gmake|make)' "$log" || true)
  grep -q 'warning' <<<"$text" || return 0
  lines=$(wc -l <<<"$text")
  head -n 100 <<<"$text" >&2
  [ "$lines" -le 100 ] || echo "... and $((lines - 100)) lines more" >&2
  echo "the build went well, with $(grep -c 'warning' <<<"$text") lines of warnings: $log has all" >&2
}

# build PRESET [TARGET...]: configures and builds. Shows compiler warnings, and the rest of the output only on
# failure. With keep_going=true a failed target does not prevent the others from being built.
build() {
  local name=$1 folder=$root/build/$1 cached options=()
  shift
  # The cache of a copied or moved checkout would build the old location.
  cached=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$folder/CMakeCache.txt" 2>/dev/null || true)
  if [ -n "$cached" ] && [ "$cached" != "$root" ]; then rm -rf "$folder"; fi
  if [ "$name" = cuda ]; then
    options+=("-DCMAKE_CUDA_ARCHITECTURES=$architectures")
  fi
  if [ ! -e "$folder/CMakeCache.txt" ] && ! command -v ninja >/dev/null; then
    options+=(-G "Unix Makefiles")
  fi
  local tool_options=()
  if [ "${keep_going:-}" = true ]; then
    if grep -qs '^CMAKE_GENERATOR:INTERNAL=Unix' "$folder/CMakeCache.txt"; then
      tool_options=(-- -k)
    else
      tool_options=(-- -k 0)
    fi
  fi
  mkdir -p "$folder"
  local log=$folder/configure.log
  if (cd "$root" && cmake --preset "$name" "${options[@]}") >"$log" 2>&1; then
    sed -n 's/^-- \(.* left out.*\)/\1/p' "$log"
    log=$folder/build.log
    if (cd "$root" && cmake --build --preset "$name" -j "$(nproc)" ${1:+--target "$@"} \
      "${tool_options[@]}") >"$log" 2>&1; then
      show_warnings "$log"
      return
    fi
  fi
  tail -n 60 "$log" >&2
  echo "building preset $name failed; $log has all" >&2
  return 1
}
