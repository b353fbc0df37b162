#include "kusari/framework/functions/math/identity.h"

#include "kusari/framework/autograd/function_node.h"

namespace kusari::functions {
namespace {

class Identity final : public FunctionNode {
 public:
  const char* name() const override { return "identity"; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0]}; }
  Variables backward(const Variables& gy) override { return {gy[0]}; }
};

}  // namespace

Variable identity(const Variable& x) { return apply<Identity>({x}); }

}  // namespace kusari::functions
