#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/onnx/model.h"

namespace run {

struct Options {
  std::string file;
  std::vector<std::string> inputs;  ///< NAME=FILE.npy
  std::vector<std::string> shapes;  ///< NAME=1,3,224,224
  bool random = false;
  int64_t batch = 1;
  std::string dtype;
  std::string output_dir;
  std::string device = "cpu";
  int threads = 0;
  double seconds = 2;
  std::string cache;
  bool summary = false;
  std::vector<std::string> folders;  ///< of test cases
};

/// Inputs from files or drawn, in the model's order. Throws ValueError when one is missing, or a name is unknown.
std::vector<kusari::Array> inputs_of(const kusari::onnx::Model& model, const Options& options);

int describe(const Options& options);
int run(const Options& options);
int bench(const Options& options);
/// Runs folders as ONNX's own tests are: model.onnx and test_data_set_*/{input,output}_*.pb.
int check(const Options& options);

}  // namespace run
