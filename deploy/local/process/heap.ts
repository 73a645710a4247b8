// How much memory V8 may use in a process of a local start.

/**
 * V8 goes by the memory that it sees. On a large machine it lets a heap grow to several times of what lives in it before it
 * looks for garbage; bounded to a gigabyte, it looks when about half was added. A bound of 256 or 512 MB makes it look so often
 * that a creation costs a tenth to a fifth more CPU. Room for young objects keeps those of a request from being moved. Loading the code
 * fills some 36 MB of it, which an idle process would keep: each collects its garbage once after its start.
 */
export const heapOptions = ['--max-old-space-size=1024', '--max-semi-space-size=64', '--expose-gc']
