#include <rondo/tools/rondo/links/links.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/option_readers.h>

namespace rondo::program {
namespace {

void add_links_options(const Command& links, LinksArguments& to) {
  links.add("--devices", "N|LIST", "Devices: a count, or a list such as 0,1,3 [all]",
            [&](const std::string& s) { to.devices = parse_devices(s); });
  const Option store =
      add_path(links, "--store", "FILE.json", "File for the results [~/.cache/rondo/links.json]", to.store);
  links.add_flag("--no-store", to.no_store, "Do not store the results").excludes(store);
}

}  // namespace

void add_links(Program& program) {
  program.add<LinksArguments>(
      "links", "Measure the devices and the links between them", add_links_options,
      [](const LinksArguments& arguments, const RunContext& context) { show_links(arguments, context.out); });
}

}  // namespace rondo::program
