// A recorded timeline in Chrome's Trace Event format, for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once

#include <rondo/kernels/runtime/trace.h>

#include <span>
#include <string>
#include <vector>

namespace rondo::program {

// A transfer between two ranks, from a span of one to a span of the other: indices of the list of spans.
struct TraceArrow {
  size_t from, to;
};

// The transfers of all spans, in their order. The span at one end moves the data; at the other end is a span
// of the other rank and of the same step. Where the data come from, that is the last one to end before the
// transfer, of those that were opened before it. Where they go to, it is the first one to begin after the
// transfer, of those that were opened after it; those of the all-reduce come before those of the stream
// "compute". If the clocks of the devices differ, so that there is none, it is the next one in the order in
// which they were opened. A transfer without any is left out.
std::vector<TraceArrow> trace_arrows(std::span<const TraceSpan> spans);

// One process per rank, named after its device ("rank 1 on cpu:0"), one thread per stream, one complete event
// ("ph": "X", in microseconds) per span, and a pair of flow events ("s" and "f") per arrow. The arguments of
// a span are its step and phase, if it has any.
std::string trace_json(std::span<const TraceSpan> spans, const std::vector<int>& devices);

}  // namespace rondo::program
