// The endpoints of institutions that a project may be granted.

/** Every endpoint that names an institution and therefore needs a grant, as "<METHOD> <path>". */
export const grantableEndpoints: readonly string[] = [
  'POST /institution/transaction',
  'GET /institution/transaction',
  'POST /institution/quote',
  'GET /institution/post',
]
