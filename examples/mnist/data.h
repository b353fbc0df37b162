#pragma once

#include <cstdio>
#include <string>

#include <kusari/kusari.h>

// MNIST ("mnist"), digits that the library draws itself ("stroke-digits"), or whichever of the two there is ("auto").
inline kusari::datasets::TrainTest load_digits(const std::string& data) {
  using namespace kusari;
  if (data == "stroke-digits") return datasets::get_stroke_digits();
  try {
    return datasets::get_mnist();
  } catch (const IoError&) {
    if (data == "mnist") throw;
  }
  std::printf("MNIST is neither in %s nor to be downloaded: training on generated stroke digits instead\n",
              datasets::dataset_root().c_str());
  return datasets::get_stroke_digits();
}
