#include <dlfcn.h>

#include "kusari/framework/core/collectives.h"
#include "kusari/framework/core/error.h"

// MPI is in a library of its own, found by name when a program that a launcher started makes its first communicator.
namespace kusari::collectives {

std::unique_ptr<Transport> mpi_transport() {
  const auto refuse = [](const std::string& problem) -> DeviceError {
    return DeviceError("create_communicator: several processes need MPI (libkusari_mpi.so), which cannot be loaded: " +
                       problem);
  };
  void* const library = dlopen("libkusari_mpi.so", RTLD_NOW | RTLD_LOCAL);  // Open MPI's plugins link it from 3.0 on
  if (library == nullptr) {
    const char* const reason = dlerror();
    throw refuse(reason != nullptr ? reason : "it was not found");
  }
  using Entry = Transport* (*)(int interface_version, const char** problem);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "kusari_mpi_transport"));
  if (entry == nullptr) throw refuse("it has no entry kusari_mpi_transport");
  const char* problem = nullptr;
  std::unique_ptr<Transport> transport(entry(kTransportInterface, &problem));
  if (!transport) throw refuse(problem != nullptr ? problem : "it does not say why");
  return transport;
}

}  // namespace kusari::collectives
