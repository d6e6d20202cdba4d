// A recorded timeline in Chrome's Trace Event format, for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once

#include <rondo/kernels/runtime/trace.h>

#include <span>
#include <string>
#include <vector>

namespace rondo::program {

// One process per rank, named after its device ("rank 1 on cpu:0"), one thread per stream, and one complete
// event ("ph": "X", in microseconds) per span.
std::string trace_json(std::span<const TraceSpan> spans, const std::vector<int>& devices);

}  // namespace rondo::program
