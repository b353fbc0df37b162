#pragma once

#include <string>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari {

/// Rows of equally many cells, each column as wide as its widest cell, two blanks apart, aligned to the right.
KUSARI_API std::string right_aligned_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace kusari
