#include <rondo/tools/rondo/banks/banks.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <algorithm>

namespace rondo::program {
namespace {

int read_width(const std::string& option, const std::string& text) {
  constexpr int kWidths[] = {1, 2, 4, 8, 16};
  const int width = read_number<int>(text).value_or(0);
  if (std::ranges::count(kWidths, width) > 0) return width;
  throw Error(bad_argument(option, " is '", text, "', must be 1, 2, 4, 8 or 16"));
}

void add_access_options(const Command& command, AccessArguments& to) {
  command
      .add("expression", "EXPRESSION",
           "Index of the element that a thread accesses, such as \"thread * 33\": a C expression of "
           "thread (also lane, tx or threadIdx.x), which is 0 to 31",
           [&](const std::string& s) { to.index = Expression(s); })
      .required();
  command.when_missing(concat("no expression was given: rondo ", command.name(),
                              " \"thread * 33\"; one that begins with - follows --"));
  command.add("--width", "BYTES", "Bytes that each thread accesses: 1, 2, 4, 8 or 16 [4]",
              [&](const std::string& s) { to.width = read_width("--width", s); });
  command.add("--element", "BYTES",
              "Size of the elements that EXPRESSION counts; 1: bytes [4, but at most the width]",
              [&](const std::string& s) { to.element = read_width("--element", s); });
  add_path(command, "--svg", "FILE.svg", "Also draw it", to.svg);
  add_path(command, "--json", "FILE.json", "Also write all figures as JSON", to.json);
}

}  // namespace

void add_banks(Program& program) {
  program.add<AccessArguments>(
      "banks", "Show the bank conflicts of a shared memory access",
      [](const Command& command, AccessArguments& to) {
        add_access_options(command, to);
        command.add_flag("--store", to.store, "The access is a store; a load otherwise");
      },
      [](const AccessArguments& arguments, const RunContext& context) {
        show_banks(arguments, context.out, context.terminal);
      });
}

void add_sectors(Program& program) {
  program.add<AccessArguments>("sectors", "Show the sectors that a global memory access moves",
                               add_access_options,
                               [](const AccessArguments& arguments, const RunContext& context) {
                                 show_sectors(arguments, context.out, context.terminal);
                               });
}

}  // namespace rondo::program
