#pragma once

#include "kusari/framework/functions/loss/crf1d.h"

namespace kusari::golden {

/// The score, then the labels of each step.
inline Variables flat(const functions::CrfPath& result) {
  Variables all(result.score);
  for (const Array& labels : result.path) all.push_back(labels);
  return all;
}

}  // namespace kusari::golden
