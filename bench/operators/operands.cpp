#include <rondo/bench/operators/operands.h>
#include <rondo/bench/timing/normal_buffer.h>

#include <limits>
#include <numeric>
#include <random>

namespace rondo::bench {
namespace {

constexpr int64_t kAlignment = 256;
constexpr int64_t kMostBytes = std::numeric_limits<int64_t>::max();

int64_t aligned(int64_t bytes) {
  return bytes > kMostBytes - kAlignment ? kMostBytes : (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
int64_t sum(int64_t a, int64_t b) { return a > kMostBytes - b ? kMostBytes : a + b; }

template <class T>
void fill(T* data, int64_t count, Fill kind, uint64_t seed) {
  if (kind == Fill::normal) return fill_normal_values(data, count, seed);
  constexpr int64_t kRampPeriod = 251;
  std::vector<T> values(
      static_cast<size_t>(std::min(count, kind == Fill::ramp ? kRampPeriod : kNormalPeriod)));
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(kind == Fill::ramp ? static_cast<float>(i) / 125 - 1 : uniform(engine));
  fill_repeatedly(data, count * static_cast<int64_t>(sizeof(T)), values.data(),
                  static_cast<int64_t>(values.size() * sizeof(T)));
}

void fill(void* data, const Operand& operand, uint64_t seed) {
  if (operand.elements == 0) return;
  if (!operand.bytes.empty()) {
    const auto size = static_cast<int64_t>(operand.bytes.size());
    return fill_repeatedly(data, size, operand.bytes.data(), size);
  }
  if (operand.fill == Fill::nothing) return;
  if (operand.fill == Fill::count) {
    std::vector<int32_t> values(static_cast<size_t>(std::min(operand.elements, operand.period)));
    std::iota(values.begin(), values.end(), 0);
    return fill_repeatedly(data, operand.byte_count(), values.data(),
                           static_cast<int64_t>(values.size() * sizeof(int32_t)));
  }
  visit(operand.type, [&](auto element) {
    using T = decltype(element);
    if constexpr (ValueType<T>) fill(static_cast<T*>(data), operand.elements, operand.fill, seed);
  });
}

}  // namespace

int64_t Operand::byte_count() const { return saturating_product({elements, size_of(type)}); }

double OperandList::least_bytes() const {
  double bytes = 0;
  for (const Operand& operand : operands_) {
    const double times = operand.role == Role::scratch ? 0 : operand.role == Role::updated ? 2 : 1;
    const double unread = static_cast<double>(operand.unread) * static_cast<double>(size_of(operand.type));
    bytes += times * (static_cast<double>(operand.byte_count()) - unread);
  }
  return bytes;
}

int64_t OperandSets::bytes_of_set(const OperandList& list) {
  int64_t bytes = 0;
  for (const Operand& operand : list.all()) bytes = sum(bytes, aligned(operand.byte_count()));
  return bytes;
}

OperandSets::OperandSets(const OperandList& list, int64_t count,
                         const std::function<void(const Operands&)>& prepare)
    : operands_(list.all()), count_(count) {
  for (const Operand& operand : operands_) {
    offsets_.push_back(set_bytes_);
    set_bytes_ = sum(set_bytes_, aligned(operand.byte_count()));
  }
  memory_ = Buffer<unsigned char>(saturating_product({set_bytes_, count}));
  const Operands first = set(0);
  for (size_t i = 0; i < operands_.size(); ++i) fill(first[OperandId<uint8_t>{i}], operands_[i], i + 1);
  if (prepare) prepare(first);
  if (set_bytes_ > 0 && count > 1)
    fill_repeatedly(memory_.data() + set_bytes_, memory_.bytes() - set_bytes_, memory_.data(), set_bytes_);
}

HostOperands::HostOperands(const OperandSets& sets) : sets_(sets) {
  const std::vector<Operand>& operands = sets.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    before_.push_back(operands[i].role == Role::updated ? download(i) : Bytes{});
    if (operands[i].role == Role::result && operands[i].elements > 0)
      RONDO_CUDA_THROW(cudaMemset(sets.set(0)[OperandId<uint8_t>{i}], 0xff,
                                  static_cast<size_t>(operands[i].byte_count())));
  }
  RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));
}

void HostOperands::download_after() {
  for (size_t i = 0; i < before_.size(); ++i)
    after_.push_back(sets_.operands()[i].role == Role::scratch ? Bytes{} : download(i));
}

HostOperands::Bytes HostOperands::download(size_t index) const {
  Bytes bytes(static_cast<size_t>(sets_.operands()[index].byte_count()));
  if (!bytes.empty())
    RONDO_CUDA_THROW(cudaMemcpy(bytes.data(), sets_.set(0)[OperandId<uint8_t>{index}], bytes.size(),
                                cudaMemcpyDeviceToHost));
  return bytes;
}

}  // namespace rondo::bench
