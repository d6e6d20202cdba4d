// `rondo links`: measures the devices and the links between them, prints the results and stores them for
// other commands.
#pragma once

#include <rondo/tools/rondo/links/arguments.h>
#include <rondo/tools/rondo/links/link_table.h>

#include <ostream>
#include <string>

namespace rondo::program {

// The matrices and their explanation, as text.
std::string link_text(const LinkTable& table);

// Throws rondo::Error.
void show_links(const LinksArguments& arguments, std::ostream& out);

}  // namespace rondo::program
