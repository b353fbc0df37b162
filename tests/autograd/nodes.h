#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/basic_math.h"

// Functions that let a test look inside the engine.
namespace kusari::testing {

/// y = x; notes its name when its backward runs.
class Probe final : public FunctionNode {
 public:
  Probe(std::string label, std::vector<std::string>* log) : label_{std::move(label)}, log_{log} {}
  const char* name() const override { return "probe"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0]}; }
  Variables backward(const Variables& gy) override {
    log_->push_back(label_);
    return {gy[0]};
  }

  std::string label_;
  std::vector<std::string>* log_;
};
inline Variable probe(const Variable& x, std::string label, std::vector<std::string>* log) {
  return apply<Probe>({x}, std::move(label), log);
}

/// Never returns.
class Throws final : public FunctionNode {
 public:
  const char* name() const override { return "throws"; }

 private:
  Arrays forward(const ArrayRefs&) override { throw ValueError("no"); }
  Variables backward(const Variables&) override { return {Variable()}; }
};

/// (x, 2x): two outputs. Keeps nothing.
class Fork final : public FunctionNode {
 public:
  const char* name() const override { return "fork"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0].copy(), (Variable(in[0]) * 2).array()}; }
  Variables backward(const Variables& gy) override {
    if (!gy[0].is_defined()) return {gy[1] * 2};
    if (!gy[1].is_defined()) return {gy[0]};
    return {gy[0] + gy[1] * 2};
  }
};
inline Variables fork(const Variable& x) { return apply_all<Fork>({x}); }

/// (x^2, x^3), of which it retains input or outputs as asked.
class Powers final : public FunctionNode {
 public:
  explicit Powers(bool keep_outputs) : keep_outputs_{keep_outputs} {}
  const char* name() const override { return "powers"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    if (keep_outputs_) {
      retain_outputs({0});
    }
    retain_inputs({0});
    const Variable x(in[0]);
    return {(x * x).array(), (x * x * x).array()};
  }
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    const Variable square = keep_outputs_ ? retained_output(0) : x * x;
    Variable gx;
    if (gy[0].is_defined()) gx = gy[0] * x * 2;
    if (gy[1].is_defined()) {
      const Variable part = gy[1] * square * 3;
      gx = gx.is_defined() ? gx + part : part;
    }
    return {gx};
  }

  bool keep_outputs_;
};

/// An array that counts its release.
inline Array counted_array(std::vector<float>& buffer, int* released) {
  const auto n = static_cast<int64_t>(buffer.size());
  return from_external(
      buffer.data(), {n}, {1}, Dtype::float32, Device(), [](void* context) { ++*static_cast<int*>(context); },
      released);
}

}  // namespace kusari::testing
