#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/banks/arguments.h>
#include <rondo/tools/rondo/bench/arguments.h>
#include <rondo/tools/rondo/check/check.h>
#include <rondo/tools/rondo/collective/arguments.h>
#include <rondo/tools/rondo/commands.h>
#include <rondo/tools/rondo/convert/arguments.h>
#include <rondo/tools/rondo/cuda/cuda.h>
#include <rondo/tools/rondo/devices/arguments.h>
#include <rondo/tools/rondo/evaluate/arguments.h>
#include <rondo/tools/rondo/judge/arguments.h>
#include <rondo/tools/rondo/links/arguments.h>
#include <rondo/tools/rondo/numerics/arguments.h>
#include <rondo/tools/rondo/plot/arguments.h>
#include <rondo/tools/rondo/profile/arguments.h>
#include <rondo/tools/rondo/scale/arguments.h>
#include <rondo/tools/rondo/schedule/arguments.h>
#include <rondo/tools/rondo/shard/arguments.h>
#include <rondo/tools/rondo/strategies/arguments.h>
#include <rondo/tools/rondo/summary/arguments.h>
#include <rondo/tools/rondo/train/arguments.h>
#include <rondo/version.h>

namespace rondo::program {
namespace {

// In the order of the help.
constexpr void (*kCommands[])(Program& program) = {
    add_train,   add_evaluate, add_convert,  add_devices, add_links,      add_collectives, add_schedule,
    add_profile, add_bench,    add_scale,    add_shard,   add_strategies, add_summary,     add_plot,
    add_banks,   add_sectors,  add_numerics, add_check,   add_cuda,    add_judge};

}  // namespace

ParsedCommand parse_command_line(int argc, const char* const* argv) {
  Program program(
      "rondo",
      "Rondo: hand-written CUDA kernels, a ring all-reduce, and the data-parallel trainer built on both.\n"
      "The same kernels run on NVIDIA GPUs and, without one, on the CPU.",
      concat("rondo ", RONDO_VERSION_STRING, " (", platform(), ")"));
  for (const auto add : kCommands) add(program);
  return program.parse({argv, argv + argc});
}

}  // namespace rondo::program
