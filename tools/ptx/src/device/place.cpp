#include "place.h"

#include <cxxabi.h>

#include <cstdlib>

#include "fault.h"
#include "mbarrier.h"
#include "module.h"

namespace ptx {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string result = text && status == 0 ? text : name;
  std::free(text);
  return result;
}

std::string place_of(const Warp& warp) { return describe_instruction(*warp.block->launch, warp.at); }

std::string warp_name(const Warp& warp) {
  const Block& block = *warp.block;
  return concat("block (", block.id[0], ", ", block.id[1], ", ", block.id[2], "), warp ", warp.index);
}

}  // namespace

std::string describe_instruction(const LaunchState& launch, const Instruction* instruction) {
  if (!instruction) return "the start";
  const Source& source =
      launch.code->sources[static_cast<size_t>(instruction - launch.code->instructions.data())];
  std::string text(source.text);
  for (char& c : text)
    if (c == '\n' || c == '\t') c = ' ';
  std::string place;
  int index = source.location;
  for (int depth = 0; index >= 0 && depth < 16; ++depth) {
    const Location& location = launch.code->locations[static_cast<size_t>(index)];
    place += concat(depth == 0 ? "" : ", inlined at ", launch.kernel->module->file_name(location.file), ":",
                    location.line);
    index = location.inlined_at;
  }
  return concat(place, place.empty() ? "" : ": ", text);
}

std::string describe_launch(const LaunchState& launch) {
  const Shape& s = launch.shape;
  return concat("kernel ", demangled(launch.kernel->name), ", grid ", s.grid[0], " x ", s.grid[1], " x ",
                s.grid[2], ", block ", s.block[0], " x ", s.block[1], " x ", s.block[2], ", cluster ",
                s.cluster[0], " x ", s.cluster[1], " x ", s.cluster[2], ", ", s.dynamic_shared,
                " bytes of dynamic shared memory");
}

std::string describe_warp(const Warp& warp, int lane) {
  if (lane < 0) return concat(warp_name(warp), ", lanes ", hex(warp.active), " at ", place_of(warp));
  const uint32_t* const block = warp.block->launch->shape.block;
  const uint32_t thread = thread_of(warp, lane);
  return concat(warp_name(warp), ", lane ", lane, ", thread (", thread % block[0], ", ",
                thread / block[0] % block[1], ", ", thread / block[0] / block[1], ") at ", place_of(warp));
}

std::string describe_waiting(const Warp& warp) {
  std::string text = concat(warp_name(warp), ", live lanes ", hex(warp.live));
  if (warp.waiting != 0) text += concat(", ", hex(warp.waiting), " wait at barrier ", warp.barrier);
  if (warp.parked != 0) text += concat(", ", hex(warp.parked), " wait for lanes of their warp");
  if (warp.yielded != 0) text += concat(", ", hex(warp.yielded), " poll");
  return text + " at " + place_of(warp) + describe_awaited(warp);
}

}  // namespace ptx
