// The parts of the simulation, and the schemas that they need.

/** What seeds run in turn. */
export const partNames = ['delivery', 'bills', 'payments'] as const
export type PartName = (typeof partNames)[number]

/** The services whose schemas the database has. */
export const services = ['payments', 'delivery', 'accounts', 'billing'] as const
