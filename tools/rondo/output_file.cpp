#include <rondo/kernels/core/status.h>
#include <rondo/nn/durable_file.h>
#include <rondo/nn/printable.h>
#include <rondo/tools/rondo/deferred_signals.h>
#include <rondo/tools/rondo/output_file.h>

#include <cstddef>
#include <span>

namespace rondo::program {

OutputFile::OutputFile(const std::string& option, const std::string& path) : path_(path) {
  if (path.empty()) return;
  const DeferredSignals until_the_temporary_is_gone;
  try {
    target_ = replaceable_file(path);
  } catch (const Error& error) {
    throw Error(bad_argument(option, " ", error.what()));
  }
}

std::string OutputFile::shown() const { return printable(path_); }

void OutputFile::write(std::string_view contents) const {
  const DeferredSignals until_the_temporary_is_gone;
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(contents))};
  replace_file(path_, pieces);
}

}  // namespace rondo::program
