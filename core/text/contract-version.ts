// The versions of the JSON contract.

/** All versions, the first one first. The last one is our extension: routes beyond the contract. */
export const contractVersions = ['2024-10-01', '2026-07-01', '2026-12-01'] as const

/** A version of the contract; every route has exactly one. */
export type ContractVersion = (typeof contractVersions)[number]
