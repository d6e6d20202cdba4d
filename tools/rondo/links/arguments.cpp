#include <rondo/tools/rondo/arguments.h>
#include <rondo/tools/rondo/links/arguments.h>
#include <rondo/tools/rondo/support/option_readers.h>

namespace rondo::program {

Command add_links(const Command& app, LinksArguments& to) {
  const Command links = app.add_command("links", "Measure the devices and the links between them");
  links.add("--devices", "N|LIST", "Devices: a count, or a list such as 0,1,3 [all]",
            [&](const std::string& s) { to.devices = parse_devices(s); });
  const Option store =
      add_path(links, "--store", "FILE.json", "File for the results [~/.cache/rondo/links.json]", to.store);
  links.add_flag("--no-store", to.no_store, "Do not store the results").excludes(store);
  return links;
}

}  // namespace rondo::program
