// How much memory V8 may take in a process of a local start: what it takes in a pod. It must not know the processes.

/**
 * V8 goes by the memory that it sees. On a large machine it lets a heap grow to several times of what lives in it before it
 * looks for garbage. In a pod of 512 MiB it has 256 MiB at most and looks when about a third was added, as here.
 * The young generation is set in the manifests too: left to itself, V8 makes it a megabyte there.
 */
export const heapOptions = ['--max-old-space-size=256', '--max-semi-space-size=16']
