#include <rondo/tools/rondo/arguments.h>
#include <rondo/tools/rondo/links/arguments.h>
#include <rondo/tools/rondo/option_readers.h>

namespace rondo::program {

CLI::App* add_links(CLI::App& app, LinksArguments& to) {
  CLI::App* links = app.add_subcommand("links", "Measure the devices and the links between them");
  add(*links, "--devices", "N|LIST", "A count, or a list such as 0,1,3 [all]",
      [&](const std::string& s) { to.devices = parse_devices(s); });
  CLI::Option* store =
      add(*links, "--store", "FILE.json", "Where the figures are kept [~/.cache/rondo/links.json]",
          [&](const std::string& s) { to.store = read_path("--store", s); });
  links->add_flag("--no-store", to.no_store, "Keep nothing")->disable_flag_override()->excludes(store);
  return links;
}

}  // namespace rondo::program
