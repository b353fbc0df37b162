#include "kusari/framework/distributed/functions/allgather.h"

#include <vector>

#include "kusari/framework/distributed/functions/connections.h"
#include "kusari/framework/distributed/functions/reduce_scatter.h"
#include "kusari/framework/functions/given.h"

namespace kusari::distributed::functions {
namespace {

class AllGather final : public CommunicatorFunction {
 public:
  using CommunicatorFunction::CommunicatorFunction;
  const char* name() const override { return "allgather"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    refuse_recording();
    Arrays gathered;
    for (Array& array : comm().allgather(in[0])) gathered.push_back(std::move(array));
    forms_.keep(gathered);
    return gathered;
  }

  Variables backward(const Variables& gy) override { return {reduce_scatter(comm(), forms_.filled(gy))}; }

  OutputForms forms_;
};

}  // namespace

Variables allgather(const Communicator& comm, const Variable& x) {
  kusari::functions::expect_given(x, "F::allgather", "x");
  return apply_all<AllGather>({connected(x)}, comm);
}

}  // namespace kusari::distributed::functions
