#pragma once

namespace kusari::collectives {
class Group;
}

namespace kusari::distributed {

/// What a process of several does beside its work: an exception that nobody catches reaches the other ranks, the
/// launcher's SIGTERM prints what this one was waiting for, and the end of the process ends MPI. Once.
void guard_process();
/// Gives all ranks the root's stream of random numbers. Collective.
void share_random_state(collectives::Group& group);

}  // namespace kusari::distributed
