#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kusari/framework/serializers/dictionary.h"

namespace inspect {

/// An entry of a file as its header describes it.
struct Item {
  std::string key;
  std::string dtype;  // of the library where it has it, else the file's own name for it; "text", "None"
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  bool is_readable = true;
};

struct Contents {
  std::shared_ptr<const kusari::serializers::EntrySource> file;
  std::string format;
  std::vector<Item> items;  // those whose key the filter lets through, in the order of the file
};

/// Reads the file, and checks it where it has checksums (IoError).
/// filter: a pattern of the shell's for whole keys ("*/W"), or a part of them; everything when empty.
Contents read_contents(const std::string& path, const std::string& filter);

std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace inspect
