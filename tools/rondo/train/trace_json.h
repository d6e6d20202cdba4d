// A recorded timeline in Chrome's Trace Event format, which Perfetto (ui.perfetto.dev) and chrome://tracing
// show.
#pragma once

#include <rondo/kernels/runtime/trace.h>

#include <span>
#include <string>
#include <vector>

namespace rondo::program {

// One process a rank, named after its device ("rank 1 on cpu:0"), one thread a stream, one complete event
// ("ph": "X", microseconds) a span.
std::string trace_json(std::span<const TraceSpan> spans, const std::vector<int>& devices);

}  // namespace rondo::program
