// Trace: named spans of device time, for a picture of who did what when.
//
// A span lies between two timing events on one stream. Whoever enqueues work opens one around it:
//
//   Trace::Scope span = trace_span(trace, rank, "copy", "ring", stream, "send chunk ", chunk);
//
// and the span ends with the C++ scope. With a null trace nothing happens and the name is not even built.
// Tracing is for looking, not for measuring speed: each span adds two events to its stream.
#pragma once

#include <rondo/kernels/runtime/buffer.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace rondo {

struct TraceSpan {
  std::string name;      // "send chunk 2"
  std::string category;  // the kind of work: "copy", "kernel", ...
  int rank = 0;
  std::string stream;   // the row inside the rank's group: "ring", "compute", ...
  double begin_us = 0;  // since the trace began
  double end_us = 0;
};

class Trace {
 public:
  // devices[rank] is the device that the rank's spans run on; a device may appear several times. The moment
  // of this call is the common zero. Clocks of two devices agree to some ten microseconds on idle devices;
  // within a device the times are as exact as CUDA's events (event_times.h).
  explicit Trace(std::vector<int> devices);

  // Ends its span when it goes.
  class [[nodiscard]] Scope {
   public:
    Scope() = default;
    Scope(Scope&& other) noexcept
        : trace_(std::exchange(other.trace_, nullptr)), index_(other.index_), stream_(other.stream_) {}
    Scope& operator=(Scope&&) = delete;
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
  // collect(). While the stream is being captured the events become nodes of the graph, and the span shows
  // its latest replay.
  Scope scope(std::string name, std::string category, int rank, std::string stream_label,
              cudaStream_t stream);

  // All spans in the order in which they were opened. Waits for their ends, and for nothing else: other
  // threads may record graphs meanwhile. Throws the first failure that scope() met.
  std::vector<TraceSpan> collect() const;

  const std::vector<int>& devices() const { return devices_; }

 private:
  struct Zero {
    Event event{Event::Kind::timing};
    double microseconds = 0;  // when it happened, on the host's clock, since the trace began
  };
  struct Record {
    TraceSpan span;
    Event begin{Event::Kind::timing};
    Event end{Event::Kind::timing};
  };

  void end(size_t index, cudaStream_t stream);

  std::vector<int> devices_;
  std::map<int, Zero> zeros_;  // of each device
  std::deque<Record> recorded_;
  Status failure_;
};

// trace->scope(...) with the name joined from its parts, or nothing where trace is null.
template <class... Parts>
[[nodiscard]] Trace::Scope trace_span(Trace* trace, int rank, const char* category, const char* stream_label,
                                      cudaStream_t stream, const Parts&... name) {
  if (!trace) return {};
  return trace->scope(concat(name...), category, rank, stream_label, stream);
}

}  // namespace rondo
