#include "device_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "settings.h"

namespace kusari::cuda::emulated {
namespace {

constexpr size_t kAlignment = 512;
constexpr size_t kPage = 4096;
/// What is opened and closed is whole huge pages: a launch then changes a few entries of the page table, not thousands.
constexpr size_t kHugePage = 2 << 20;

struct Block {
  size_t bytes = 0;
  int device = 0;
};

/// One range of addresses for each device, so that opening and closing it is one system call.
struct Arena {
  char* base = nullptr;
  size_t used_end = 0;            ///< bytes from base that have ever been given out
  std::map<size_t, size_t> free;  ///< offset to bytes, merged
  size_t free_bytes = 0;
};

struct Memory {
  std::mutex mutex;
  std::vector<Arena> arenas;
  std::map<const char*, Block> blocks;
  int accesses = 0;
  struct sigaction previous {};
};

Memory& memory() {
  static Memory& object = *new Memory;  // outlives every static object
  return object;
}

void on_fault(int signal, siginfo_t* info, void*) {
  Memory& m = memory();
  const char* const address = static_cast<const char*>(info->si_addr);
  for (const Arena& arena : m.arenas) {
    if (address < arena.base || address >= arena.base + arena.used_end) continue;
    constexpr char kMessage[] = "emulated device: the host touched device memory\n";
    (void)!write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  }
  sigaction(signal, &m.previous, nullptr);  // and the instruction faults once more
}

/// Test programs set handlers of their own around each test: ours goes before theirs.
void install_handler(Memory& m) {
  struct sigaction ours {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  struct sigaction old {};
  sigaction(SIGSEGV, &ours, &old);
  if (old.sa_sigaction != on_fault) m.previous = old;
}

void set_protection(Memory& m, int protection) {
  for (const Arena& arena : m.arenas) {
    if (arena.used_end > 0) mprotect(arena.base, arena.used_end, protection);
  }
}

void make_arenas(Memory& m) {
  if (!m.arenas.empty()) return;
  const size_t bytes = settings().memory / kPage * kPage;
  m.arenas.resize(static_cast<size_t>(settings().devices));
  for (Arena& arena : m.arenas) {
    arena.free_bytes = bytes;
#if !defined(__SANITIZE_ADDRESS__)
    void* const mapped =
        mmap(nullptr, bytes + 2 * kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) abort();
    arena.base = static_cast<char*>(mapped) + (kHugePage - reinterpret_cast<uintptr_t>(mapped) % kHugePage);
    madvise(arena.base, bytes, MADV_HUGEPAGE);
    arena.free[0] = bytes;
#endif
  }
}

#if !defined(__SANITIZE_ADDRESS__)
char* take(Arena& arena, size_t bytes) {
  for (auto it = arena.free.begin(); it != arena.free.end(); ++it) {
    if (it->second < bytes) continue;
    const auto [offset, space] = *it;
    arena.free.erase(it);
    if (space > bytes) arena.free[offset + bytes] = space - bytes;
    const size_t end = (offset + bytes + kHugePage - 1) / kHugePage * kHugePage;
    if (end > arena.used_end) {
      mprotect(arena.base + arena.used_end, end - arena.used_end, PROT_READ | PROT_WRITE);
      arena.used_end = end;
    }
    return arena.base + offset;
  }
  return nullptr;
}

void put_back(Arena& arena, size_t offset, size_t bytes) {
  auto next = arena.free.lower_bound(offset);
  if (next != arena.free.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = arena.free.erase(next);
  }
  if (next != arena.free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  arena.free[offset] = bytes;
}
#endif

}  // namespace

DeviceAccess::DeviceAccess() {
  if (!settings().protect) return;
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  if (m.accesses++ == 0) set_protection(m, PROT_READ | PROT_WRITE);
}

DeviceAccess::~DeviceAccess() {
  if (!settings().protect) return;
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  if (--m.accesses > 0) return;
  set_protection(m, PROT_NONE);
  install_handler(m);
}

void* allocate_device(int device, size_t bytes) {
  const DeviceAccess access;
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  make_arenas(m);
  Arena& arena = m.arenas[static_cast<size_t>(device)];
#if defined(__SANITIZE_ADDRESS__)
  // The true size, so that the red zone begins behind the last byte.
  if (bytes > arena.free_bytes) return nullptr;
  void* data = nullptr;
  if (posix_memalign(&data, kAlignment, bytes) != 0) return nullptr;
  char* const block = static_cast<char*>(data);
#else
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  char* const block = take(arena, bytes);
  if (block == nullptr) return nullptr;
#endif
  arena.free_bytes -= bytes;
  m.blocks[block] = {bytes, device};
  if (settings().execute) std::memset(block, 0xff, bytes);
  return block;
}

bool free_device(void* data) {
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  const auto it = m.blocks.find(static_cast<const char*>(data));
  if (it == m.blocks.end()) return false;
  Arena& arena = m.arenas[static_cast<size_t>(it->second.device)];
  arena.free_bytes += it->second.bytes;
#if defined(__SANITIZE_ADDRESS__)
  free(data);
#else
  put_back(arena, static_cast<size_t>(it->first - arena.base), it->second.bytes);
#endif
  m.blocks.erase(it);
  return true;
}

size_t free_device_bytes(int device) {
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  make_arenas(m);
  return m.arenas[static_cast<size_t>(device)].free_bytes;
}

int device_of(const void* address) {
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  auto it = m.blocks.upper_bound(static_cast<const char*>(address));
  if (it == m.blocks.begin()) return -1;
  --it;
  return static_cast<const char*>(address) < it->first + it->second.bytes ? it->second.device : -1;
}

}  // namespace kusari::cuda::emulated
