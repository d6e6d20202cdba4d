// Status: the return type of every call in Rondo's kernels and collectives.
//
// There are four kinds of failure, because a caller handles each differently:
//   bad_argument      no work was started; the message has the argument, its value and the valid values.
//   out_of_resources  recoverable: too little memory or launch resources; the CUDA error has been cleared.
//   device_failed     the device's context is unusable (a fault in a kernel); all later calls fail as well.
//   timed_out         an operation did not finish within its time limit; it may still finish.
#pragma once

#include <cuda_runtime_api.h>

#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace rondo {

enum class StatusCode { ok, bad_argument, out_of_resources, device_failed, timed_out };

const char* name_of(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::ok; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::ok;
  std::string message_;  // empty if ok, so that success does not allocate
};

namespace detail {
// A value, and the function that writes it. A message is a list of them, because code that writes each
// message with its own template takes most of the time to compile a file with many messages.
struct TextPart {
  const void* value;
  void (*write)(std::ostream& out, const void* value);
};
void write_text(std::ostream& out, const void* text);
template <class T>
void write_value(std::ostream& out, const void* value) {
  out << *static_cast<const T*>(value);
}
inline TextPart part_of(const char* text) { return {text, write_text}; }
template <class T>
TextPart part_of(const T& value) {
  return {&value, write_value<T>};
}
std::string concat_parts(std::span<const TextPart> parts);
}  // namespace detail

// Concatenates its arguments to a string: concat("lda is ", 3, ", must be at least ", 4).
template <class... Parts>
std::string concat(const Parts&... parts) {
  const detail::TextPart list[] = {detail::part_of(parts)...};
  return detail::concat_parts(list);
}

template <class... Parts>
Status bad_argument(const Parts&... parts) {
  return Status(StatusCode::bad_argument, concat(parts...));
}

// Converts the result of a CUDA call to a Status. `what` describes the call. Clears the error if it is
// recoverable. If the program has no kernels for the current device's architecture, the message has the
// device and the CMake option that compiles them.
Status from_cuda(cudaError_t error, const std::string& what);

// The exception that nn and the programs throw. It carries the Status that it was made from.
class Error : public std::runtime_error {
 public:
  explicit Error(Status status) : std::runtime_error(status.message()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

inline void throw_if_error(Status status) {
  if (!status.ok()) throw Error(std::move(status));
}

#define RONDO_RETURN_IF_ERROR(expression)          \
  do {                                             \
    ::rondo::Status rondo_status_ = (expression);  \
    if (!rondo_status_.ok()) return rondo_status_; \
  } while (false)

// RONDO_CUDA(cudaMalloc(&p, n)): returns a Status from the enclosing function if the call fails. A
// successful call costs one comparison and builds no text.
#define RONDO_CUDA(call)                                                             \
  do {                                                                               \
    const cudaError_t rondo_error_ = (call);                                         \
    if (rondo_error_ != cudaSuccess) return ::rondo::from_cuda(rondo_error_, #call); \
  } while (false)

// As RONDO_CUDA, but throws rondo::Error. For code that owns memory.
#define RONDO_CUDA_THROW(call)                                                                      \
  do {                                                                                              \
    const cudaError_t rondo_error_ = (call);                                                        \
    if (rondo_error_ != cudaSuccess) throw ::rondo::Error(::rondo::from_cuda(rondo_error_, #call)); \
  } while (false)

}  // namespace rondo
