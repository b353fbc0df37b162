#include "kusari/framework/functions/array/take_rows.h"

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"

namespace kusari::functions {
namespace {

class TakeRows final : public FunctionNode {
 public:
  TakeRows(const Array& index, const kernels::RowLookup& lookup) : index_{index}, lookup_{lookup} {}
  const char* name() const override { return "take_rows"; }
  void describe(Attributes& options) const override {
    options.set("index", index_);
    if (lookup_.has_ignored) options.set("ignore_label", lookup_.ignored);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.ndim() == 2);
  }
  Arrays forward(const ArrayRefs& in) override {
    const Array x = in[0].contiguous();
    const Array y = empty({index_.size(), x.shape()[1]}, x.dtype(), x.device());
    launch<kernels::TakeRows>(x.device(), lookup_, x, index_, y);
    return {y};
  }
  Variables backward(const Variables& gy) override { return {add_rows(gy[0], index_, input_shape(0)[0], lookup_)}; }

  Array index_;
  kernels::RowLookup lookup_;
};

class AddRows final : public FunctionNode {
 public:
  AddRows(const Array& index, int64_t rows, const kernels::RowLookup& lookup)
      : index_{index}, rows_{rows}, lookup_{lookup} {}
  const char* name() const override { return "add_rows"; }
  void describe(Attributes& options) const override {
    options.set("index", index_);
    options.set("rows", rows_);
    if (lookup_.has_ignored) options.set("ignore_label", lookup_.ignored);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.ndim() == 2);
  }
  Arrays forward(const ArrayRefs& in) override {
    const Array x = in[0].contiguous();
    const Array y = zeros({rows_, x.shape()[1]}, x.dtype(), x.device());
    launch<kernels::AddRows>(x.device(), lookup_, x, index_, y);
    return {y};
  }
  Variables backward(const Variables& gy) override { return {take_rows(gy[0], index_, lookup_)}; }

  Array index_;
  int64_t rows_;
  kernels::RowLookup lookup_;
};

}  // namespace

Variable take_rows(const Variable& x, const Array& index, const kernels::RowLookup& lookup) {
  return apply<TakeRows>({x}, index, lookup);
}

Variable add_rows(const Variable& x, const Array& index, int64_t rows, const kernels::RowLookup& lookup) {
  return apply<AddRows>({x}, index, rows, lookup);
}

}  // namespace kusari::functions
