#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"

namespace kusari::datasets {

using LabeledPath = std::pair<std::string, int64_t>;

/// The lines of a text file that are not blank, without blanks around them. IoErrors begin with `call`.
std::vector<std::string> read_paths(const char* call, const std::string& list);

/// The same for lines "path label"; a path may have blanks in it. Throws ValueError, naming file and line, for others.
std::vector<LabeledPath> read_labeled_paths(const char* call, const std::string& list);

/// (n) labels.
Array labels_of(const std::vector<LabeledPath>& pairs, Dtype dtype);

}  // namespace kusari::datasets
