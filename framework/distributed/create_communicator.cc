#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/distributed/communicator.h"
#include "kusari/framework/distributed/process_guard.h"
#include "kusari/optimizers/gradient_exchange.h"

namespace kusari::distributed {

using collectives::Group;

namespace {

constexpr std::array kNames = {"auto", "pure_nccl", "naive", "flat", "non_cuda_aware", "dummy"};

/// A launcher's variables for one process.
struct Launcher {
  const char* rank;
  const char* size;
};
// Open MPI; MPICH and Intel MPI (Hydra); srun. A batch script of Slurm by itself has no step's variables.
constexpr Launcher kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

struct Launch {
  int rank = 0, size = 1;
  const char* variable = nullptr;  // where the size stands
};

Launch read_launch() {
  for (const Launcher& launcher : kLaunchers) {
    const char* const rank = std::getenv(launcher.rank);
    const char* const size = std::getenv(launcher.size);
    if (rank == nullptr || size == nullptr) continue;
    constexpr uint64_t kMost = 1 << 24;
    const auto n = static_cast<int>(environment::parse_number(launcher.size, size, 1, kMost));
    return {static_cast<int>(environment::parse_number(launcher.rank, rank, 0, static_cast<uint64_t>(n - 1))), n,
            launcher.size};
  }
  return {};
}

// Several processes of a machine share its cores. Where the launcher has bound this one to some, those are its own.
void share_cores(const Group& world) {
  if (environment::value("KUSARI_NUM_THREADS") != nullptr || world.intra_size() == 1) return;
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  if (num_threads() < all) return;
  set_num_threads(std::max(1, all / world.intra_size()));
  log::info("create_communicator: " + std::to_string(num_threads()) + " threads for each of the " +
            std::to_string(world.intra_size()) + " processes on this machine; KUSARI_NUM_THREADS would say otherwise");
}

/// All processes of the run: made once, and never destroyed, because MPI cannot be started twice.
Group& process_group() {
  static Lazy<std::mutex> mutex;
  static Group* world = nullptr;
  const std::scoped_lock lock(*mutex);
  if (world != nullptr) return *world;
  const Launch launch = read_launch();
  if (launch.size == 1) return *(world = new Group());
  auto transport = collectives::mpi_transport();
  if (transport->size() != launch.size) {
    throw StateError("create_communicator: MPI sees " + std::to_string(transport->size()) +
                     " processes and the launcher " + std::to_string(launch.size) + " (" + launch.variable +
                     "): it must be the launcher of the MPI that libkusari_mpi.so was built with");
  }
  world = new Group(std::move(transport));
  guard_process();
  share_cores(*world);
  return *world;
}

}  // namespace

int launch_rank() { return read_launch().rank; }
int launch_size() { return read_launch().size; }

Communicator create_communicator(const std::string& name, const CommunicatorOptions& options) {
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
    std::string names;
    for (const char* const known : kNames) names += (names.empty() ? "" : ", ") + std::string(known);
    throw ValueError("create_communicator: '" + name + "' is no communicator: it must be one of " + names);
  }
  kusari::detail::checked_wire_dtype("create_communicator", "allreduce_grad_dtype", options.allreduce_grad_dtype);
  Group& world = process_group();
  if (world.size() == 1) return Communicator(std::make_shared<Group>(), name, options);
  const std::shared_ptr<Group> group = world.split(0, world.rank());
  share_random_state(*group);
  return Communicator(group, name, options);
}

}  // namespace kusari::distributed
