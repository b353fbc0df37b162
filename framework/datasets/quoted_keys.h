#pragma once

#include <string>

#include "kusari/framework/datasets/dataset.h"

namespace kusari::datasets {

/// "('image', 'label')", for errors.
std::string quoted_keys(const Keys& keys);

}  // namespace kusari::datasets
