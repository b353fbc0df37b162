#pragma once

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/kusari.h"
#include "kusari/framework/onnx/export_model.h"

// Writes the test cases of onnx_export_cases.
namespace kusari::testing {

class CaseWriter {
 public:
  CaseWriter(std::string folder, int opset, std::string only)
      : folder_{std::move(folder)}, only_{std::move(only)}, opset_{opset} {}

  /// A case; with `dynamic` also NAME.batch, exported with a batch of any size, and NAME.axisK for the other axes of
  /// the first input, with inputs of another size. Models may depend on the sizes of the latter: those are refused.
  template <class Model>
  void write(const std::string& name, Model&& model, const std::vector<Variable>& inputs, Link* link, bool dynamic) {
    if (!only_.empty() && name.find(only_) == std::string::npos) return;
    const onnx::detail::ModelCall call = onnx::detail::model_call(model);
    Link* const named = link != nullptr ? link : onnx::detail::link_of(model);
    if (!dynamic) {
      guarded(name, [&] { onnx::detail::export_testcase(call, named, inputs, folder_ + "/" + name, options(link)); });
      return;
    }
    guarded(name + ".batch", [&] { write_dynamic(name + ".batch", call, named, inputs, 0, true); });
    for (int axis = 1; axis < inputs[0].ndim(); ++axis) {
      const std::string axis_name = name + ".axis" + std::to_string(axis);
      try {
        write_dynamic(axis_name, call, named, inputs, axis, false);
        ++axes_;
      } catch (const std::exception& error) {
        std::filesystem::remove_all(folder_ + "/" + axis_name);
        ++refused_;
        if (!only_.empty()) std::printf("%s is refused: %s\n", axis_name.c_str(), error.what());
      }
    }
  }

  int opset() const { return opset_; }
  void set_train(bool train) { train_ = train; }
  int failures() const { return failures_; }
  void print() const {
    std::printf("%d cases, %d not written; another axis than the batch's: %d written, %d refused\n", cases_, failures_,
                axes_, refused_);
  }

 private:
  template <class F>
  void guarded(const std::string& name, F&& write) {
    ++cases_;
    try {
      write();
    } catch (const std::exception& error) {
      ++failures_;
      std::printf("%s: %s\n", name.c_str(), error.what());
    }
  }

  onnx::TestcaseOptions options(Link* link) const {
    onnx::TestcaseOptions result;
    result.model.opset = opset_;
    result.model.train = train_;
    result.model.model = link;
    return result;
  }

  void write_dynamic(const std::string& name, const onnx::detail::ModelCall& call, Link* link,
                     std::vector<Variable> inputs, int axis, bool is_batch) const {
    const std::string folder = folder_ + "/" + name;
    onnx::TestcaseOptions dynamic = options(link);
    const auto has_it = [&](const Variable& x) {
      return x.ndim() > axis && x.shape()[axis] == inputs[0].shape()[axis];
    };
    if (is_batch) {
      dynamic.model.dynamic_batch = true;
    } else {
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (has_it(inputs[i])) dynamic.model.dynamic_axes["input_" + std::to_string(i)][axis] = "size";
      }
    }
    onnx::detail::export_testcase(call, link, inputs, folder, dynamic);
    std::filesystem::copy_file(folder + "/model.onnx", folder + "/dynamic.onnx",
                               std::filesystem::copy_options::overwrite_existing);
    // The data of another size: three times as many examples, or twice as long an axis.
    std::vector<Variable> larger;
    for (const Variable& x : inputs) {
      const std::vector<Variable> copies(is_batch ? 3 : 2, x);
      larger.push_back(has_it(x) ? Variable(F::concat(std::span<const Variable>(copies), axis).array(), false) : x);
    }
    onnx::detail::export_testcase(call, link, larger, folder, options(link));
    std::filesystem::rename(folder + "/dynamic.onnx", folder + "/model.onnx");
  }

  std::string folder_, only_;
  int opset_;
  bool train_ = false;
  int cases_ = 0, failures_ = 0, axes_ = 0, refused_ = 0;
};

}  // namespace kusari::testing
