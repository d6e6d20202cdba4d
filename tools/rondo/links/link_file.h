// The file that `rondo links` writes and other commands read.
#pragma once

#include <rondo/tools/rondo/links/link_table.h>

#include <optional>
#include <string>

namespace rondo::program {

// $XDG_CACHE_HOME/rondo/links.json or ~/.cache/rondo/links.json; empty if neither directory is known.
std::string default_link_file();

std::string link_json(const LinkTable& table);

// Throws a bad_argument Error that describes the problem; `name` is the file's name.
LinkTable parse_link_json(const std::string& name, const std::string& text);

// The stored measurements of these devices of this machine.
struct StoredLinks {
  std::optional<LinkTable> table;  // nothing: there is no file, or it can't be used
  std::string note;                // text to print after "links"; empty if there is no file
};
StoredLinks stored_links(const std::vector<int>& devices);

}  // namespace rondo::program
