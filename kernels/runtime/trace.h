// Trace: named spans of device time, for a timeline of all ranks.
//
// A span lies between two timing events on one stream. The code that enqueues work opens a span around it:
//
//   Trace::Scope span = trace_span(trace, rank, "copy", "ring", stream, "send chunk ", chunk);
//
// The span ends with the C++ scope. With a null trace nothing is recorded and the name is not built. Tracing
// is for inspection, not for measuring speed: each span adds two events to its stream.
#pragma once

#include <rondo/kernels/runtime/buffer.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace rondo {

// Data that a span's work moves from the memory of one rank to that of another.
struct TraceTransfer {
  int from, to;  // ranks
};

struct TraceSpan {
  std::string name;      // "send chunk 2"
  std::string category;  // the kind of work: "copy", "kernel", ...
  int rank = 0;
  std::string stream;   // row of the timeline within the rank's group: "ring", "compute", ...
  double begin_us = 0;  // since the start of the trace
  double end_us = 0;
  std::vector<TraceTransfer> transfers = {};
  int step = 0;            // of the training, from 1; 0: none
  std::string phase = {};  // of the step: "forward"
};

class Trace {
 public:
  // devices[rank] is the device of the rank's spans; a device may appear several times. The time of this call
  // is the common zero. The clocks of two devices agree to about ten microseconds if the devices are idle at
  // some time of the call: it compares each with the host's clock several times, and uses the quickest
  // comparison. Within a device the times are as accurate as CUDA's events (event_times.h).
  explicit Trace(std::vector<int> devices);

  // Ends its span in the destructor.
  class [[nodiscard]] Scope {
   public:
    Scope() = default;
    Scope(Scope&& other) noexcept
        : trace_(std::exchange(other.trace_, nullptr)), index_(other.index_), stream_(other.stream_) {}
    Scope& operator=(Scope&&) = delete;
    // Declares that the work moves data between two ranks. No effect if they are the same.
    void moves(int from, int to) {
      if (trace_ && from != to) trace_->recorded_[index_].span.transfers.push_back({from, to});
    }
    ~Scope() {
      if (trace_) trace_->end(index_, stream_);
    }

   private:
    friend class Trace;
    Scope(Trace* trace, size_t index, cudaStream_t stream) : trace_(trace), index_(index), stream_(stream) {}

    Trace* trace_ = nullptr;
    size_t index_ = 0;
    cudaStream_t stream_ = nullptr;
  };

  // Opens a span on `stream`, a stream of the rank's device. Never throws: the first failure is kept for
  // collect(). If the stream is being captured, the events become nodes of the graph, and the span has the
  // times of the graph's latest replay.
  Scope scope(std::string name, std::string category, int rank, std::string stream_label,
              cudaStream_t stream);

  // Spans opened from now on belong to the next step of the training, and to this phase of a step.
  void begin_step() { ++step_; }
  void set_phase(const char* phase) { phase_ = phase; }

  // All spans, in the order in which they were opened. Waits only for the ends of the spans; other threads
  // may capture graphs meanwhile. After a replay of a graph, synchronise its stream first: CUDA does not
  // document that a wait for an event waits for the graph that records it. Throws the first failure of a
  // scope.
  std::vector<TraceSpan> collect() const;

  const std::vector<int>& devices() const { return devices_; }

 private:
  struct Zero {
    Event event{Event::Kind::timing};
    double microseconds = 0;  // time of the event on the host's clock, since the start of the trace
  };
  struct Record {
    TraceSpan span;
    Event begin{Event::Kind::timing};
    Event end{Event::Kind::timing};
  };

  void end(size_t index, cudaStream_t stream);

  std::vector<int> devices_;
  std::map<int, Zero> zeros_;  // per device
  std::deque<Record> recorded_;
  int step_ = 0;
  const char* phase_ = "";
  Status failure_;
};

// trace->scope(...) with the name concatenated from its parts; nothing if trace is null.
template <class... Parts>
[[nodiscard]] Trace::Scope trace_span(Trace* trace, int rank, const char* category, const char* stream_label,
                                      cudaStream_t stream, const Parts&... name) {
  if (!trace) return {};
  return trace->scope(concat(name...), category, rank, stream_label, stream);
}

}  // namespace rondo
