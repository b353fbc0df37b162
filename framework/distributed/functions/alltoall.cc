#include "kusari/framework/distributed/functions/alltoall.h"

#include <vector>

#include "kusari/framework/distributed/functions/connections.h"

namespace kusari::distributed::functions {
namespace {

class AllToAll final : public CommunicatorFunction {
 public:
  using CommunicatorFunction::CommunicatorFunction;
  const char* name() const override { return "alltoall"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    refuse_recording();
    Arrays received;
    for (Array& array : comm().alltoall(arrays_of(in))) received.push_back(std::move(array));
    forms_.keep(received);
    return received;
  }

  Variables backward(const Variables& gy) override { return alltoall(comm(), forms_.filled(gy)); }

  OutputForms forms_;
};

}  // namespace

Variables alltoall(const Communicator& comm, std::span<const Variable> xs) {
  expect_one_for_each_rank(comm, "F::alltoall", xs);
  return apply_all<AllToAll>(all_connected(xs), comm);
}

}  // namespace kusari::distributed::functions
