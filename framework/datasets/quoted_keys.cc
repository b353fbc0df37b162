#include "kusari/framework/datasets/quoted_keys.h"

namespace kusari::datasets {

std::string quoted_keys(const Keys& keys) {
  std::string names;
  for (const std::string& key : keys) names += (names.empty() ? "'" : ", '") + key + "'";
  return "(" + names + ")";
}

}  // namespace kusari::datasets
