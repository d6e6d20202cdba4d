#include <rondo/tests/collectives/algorithms/stream_model.h>

#include <algorithm>

namespace rondo::test {

StreamModel::Stream& StreamModel::at(cudaStream_t handle) {
  const auto [entry, fresh] = streams_.try_emplace(handle);
  if (fresh) {
    entry->second.index = streams_.size() - 1;
    work_.emplace_back();
  }
  Clock& clock = entry->second.clock;
  if (clock.size() <= entry->second.index) clock.resize(entry->second.index + 1, 0);
  return entry->second;
}

StreamModel::Access StreamModel::begin_work(cudaStream_t handle, const char* what) {
  Stream& stream = at(handle);
  work_[stream.index].push_back(what);
  clock_ = &stream.clock;
  return now_ = {stream.index, ++stream.clock[stream.index]};
}

void StreamModel::record(cudaEvent_t event, cudaStream_t stream) { events_[event] = at(stream).clock; }

void StreamModel::wait(cudaStream_t handle, cudaEvent_t event) {
  const auto recorded = events_.find(event);
  if (recorded == events_.end()) {
    problems_.push_back("a stream waits for an event that was never recorded");
    return;
  }
  Clock& clock = at(handle).clock;
  const Clock& other = recorded->second;
  if (clock.size() < other.size()) clock.resize(other.size(), 0);
  for (size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

bool StreamModel::before(const Access& earlier) const {
  return earlier.time == 0 || (earlier.stream < clock_->size() && earlier.time <= (*clock_)[earlier.stream]);
}

void StreamModel::report(const char* kind, const Access& earlier) {
  if (problems_.size() < 5)
    problems_.push_back(concat(kind, ": ", work_[now_.stream].back(), " on stream ", now_.stream,
                               " is not ordered after ", work_[earlier.stream][earlier.time - 1],
                               " on stream ", earlier.stream));
}

Term StreamModel::load(const void* address, int64_t bytes) {
  Term term = 0;
  for (int64_t byte = 0; byte < bytes; byte += granule_) {
    Cell& cell = memory_[reinterpret_cast<uintptr_t>(address) + static_cast<uintptr_t>(byte)];
    if (!before(cell.written)) report("a read after a write", cell.written);
    if (byte == 0) term = cell.term;
    if (term != cell.term) problems_.push_back("an element is read that was written in parts");
    const auto same = std::find_if(cell.read.begin(), cell.read.end(),
                                   [&](const Access& access) { return access.stream == now_.stream; });
    if (same == cell.read.end())
      cell.read.push_back(now_);
    else
      same->time = now_.time;
  }
  return term;
}

void StreamModel::store(void* address, int64_t bytes, Term term) {
  for (int64_t byte = 0; byte < bytes; byte += granule_) {
    Cell& cell = memory_[reinterpret_cast<uintptr_t>(address) + static_cast<uintptr_t>(byte)];
    if (!before(cell.written)) report("a write after a write", cell.written);
    for (const Access& access : cell.read)
      if (!before(access)) report("a write after a read", access);
    cell.written = now_;
    cell.read.clear();
    cell.term = term;
  }
}

void StreamModel::copy(cudaStream_t stream, void* to, const void* from, int64_t bytes) {
  begin_work(stream, "a copy");
  bytes_copied_[stream] += bytes;
  std::vector<Term> moved;
  for (int64_t byte = 0; byte < bytes; byte += granule_)
    moved.push_back(load(static_cast<const std::byte*>(from) + byte, granule_));
  for (int64_t byte = 0; byte < bytes; byte += granule_)
    store(static_cast<std::byte*>(to) + byte, granule_, moved[static_cast<size_t>(byte / granule_)]);
}

void StreamModel::sum(cudaStream_t stream, DType dtype, Reduction reduction, const ReduceArguments& c) {
  begin_work(stream, "a sum");
  ++sums_;
  const int64_t bytes = size_of(dtype), partial_bytes = size_of(accumulator_of(dtype, reduction));
  const auto element = [](const void* data, int64_t i, int64_t size) {
    return static_cast<const std::byte*>(data) + i * size;
  };
  for (int64_t i = 0; i < c.size; ++i) {
    Term sum = 0;
    int input = 0;
    if (c.partial_in)
      sum = load(element(c.partial_in, i, partial_bytes), partial_bytes);
    else
      sum = load(element(c.in[input++], i, bytes), bytes);
    for (; input < c.inputs; ++input) sum = terms_.sum(sum, load(element(c.in[input], i, bytes), bytes));
    if (c.partial_out)
      store(const_cast<std::byte*>(element(c.partial_out, i, partial_bytes)), partial_bytes, sum);
    for (int output = 0; output < c.outputs; ++output)
      store(const_cast<std::byte*>(element(c.out[output], i, bytes)), bytes, terms_.finished(sum));
  }
}

void StreamModel::pack(cudaStream_t stream, void* bucket, std::span<const DataView> vectors,
                       bool into_bucket) {
  begin_work(stream, into_bucket ? "a pack" : "an unpack");
  auto* at = static_cast<std::byte*>(bucket);
  for (const DataView& vector : vectors) {
    auto* data = static_cast<std::byte*>(vector.data);
    for (int64_t byte = 0; byte < (vector.bytes() + 15) / 16 * 16; byte += granule_, at += granule_) {
      const bool gap = byte >= vector.bytes();
      if (into_bucket)
        store(at, granule_, gap ? 0 : load(data + byte, granule_));
      else if (!gap)
        store(data + byte, granule_, load(at, granule_));
    }
  }
}

void StreamModel::write(cudaStream_t stream, DataView vector, const std::vector<Term>& terms) {
  begin_work(stream, "the caller's writing");
  const int64_t bytes = size_of(vector.dtype);
  for (int64_t i = 0; i < vector.size; ++i)
    store(static_cast<std::byte*>(vector.data) + i * bytes, bytes, terms.at(static_cast<size_t>(i)));
}

std::vector<Term> StreamModel::read(cudaStream_t stream, ConstDataView vector) {
  begin_work(stream, "the caller's reading");
  const int64_t bytes = size_of(vector.dtype);
  std::vector<Term> terms;
  for (int64_t i = 0; i < vector.size; ++i)
    terms.push_back(load(static_cast<const std::byte*>(vector.data) + i * bytes, bytes));
  return terms;
}

}  // namespace rondo::test
