// Writes the examples as commands for a shell that has sourced `sandbox.env`.
import type { RouteRow } from '../http/route.ts'
import { demo, type Example, type OperationName, type Variable } from './operation.ts'

/** Writes one example of a route, with the calls that give what it needs before it. */
export type WriteExample = (row: RouteRow, example: Example) => string

/** The operation that gives a variable, and the field of its answer. */
type FieldRecipe = {
  of: OperationName
  field: string
  /** Repeats the call until the field is there. */
  isLate?: true
  /** Then repeats this call until its answer has the text. */
  until?: { of: OperationName; text: string }
}
type Recipe = FieldRecipe | { script: string }

const sealScript = `SESSION_TOKEN_ENC=$(node -e '
  const { createCipheriv, randomBytes } = require("node:crypto")
  const [token, keyId, key] = process.argv.slice(1)
  const nonce = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", Buffer.from(key, "base64"), nonce)
  cipher.setAAD(Buffer.from("session_token"))
  const sealed = [Buffer.from([1]), Buffer.from(keyId, "hex"), nonce, cipher.update(token), cipher.final()]
  console.log(Buffer.concat([...sealed, cipher.getAuthTag()]).toString("base64"))
' "$SESSION_TOKEN" "$INSTITUTIONS_DEMO_WALLET_KEY_ID" "$INSTITUTIONS_DEMO_WALLET_SHARED_KEY")`

/** Where the variables that a response gives come from. */
export const variableFields: Record<
  Exclude<Variable, 'SESSION_TOKEN_ENC' | 'TRANSACTION_ID'>,
  FieldRecipe
> = {
  PAYMENT_ID: { of: 'POST /payments/request', field: 'id' },
  SESSION_TOKEN: { of: 'POST /account/account_session', field: 'session_token' },
  QUOTE_ID: { of: 'POST /quote', field: 'quote_id' },
  BILL_ID: { of: 'POST /bill_payments/pay', field: 'transaction_id' },
  PAID_PAYMENT_ID: {
    of: 'POST /payments/request',
    field: 'id',
    until: { of: 'GET /payments/status', text: '"status":"paid"' },
  },
  DELIVERY_ID: { of: 'GET /deliveries/list', field: 'delivery_id', isLate: true },
}

/** Where each variable comes from. */
const recipes: Record<Variable, Recipe> = {
  ...variableFields,
  TRANSACTION_ID: { of: 'POST /institution/transaction', field: 'transaction_id' },
  SESSION_TOKEN_ENC: { script: sealScript },
}

/** Makes the writer; `find` gives the first example of another operation. */
export function exampleWriter(
  find: (name: OperationName) => { row: RouteRow; example: Example },
): WriteExample {
  function variableLines(variable: Variable): string {
    const recipe = recipes[variable]
    if ('script' in recipe) return recipe.script
    const { row, example } = find(recipe.of)
    if (variable === 'TRANSACTION_ID') {
      // The id is the client's own.
      const id = `TRANSACTION_ID="transfer-${demo.unique}"`
      const named = { ...example, body: { ...example.body, transaction_id: '$TRANSACTION_ID' } }
      return `${id}\n${command(row, named, ' > /dev/null')}`
    }
    const take = `sed -n 's/.*"${recipe.field}":"\\([^"]*\\)".*/\\1/p'`
    const line = `${variable}=$(${command(row, example, ` | ${take}`)}\n)`
    if (recipe.isLate === true) return `until ${line} && [ -n "$${variable}" ]; do sleep 1; done`
    if (recipe.until === undefined) return line
    const { of, text } = recipe.until
    const asked = find(of)
    const query = { ...asked.example.query, payment_details_id: `$${variable}` }
    const call = command(asked.row, { query }, ` | grep -q '${text}'`)
    return `${line}\nuntil ${call}; do sleep 1; done`
  }
  return (row, example) => {
    const before = (example.needs ?? []).map(variableLines)
    const files = (example.form?.files ?? []).map(
      (name) => `printf '%%PDF-1.4\\n%%%%EOF\\n' > ${name}.pdf`,
    )
    return [...before, ...files, command(row, example)].join('\n')
  }
}

/** One call by curl. `after` follows on its last line, before the body. */
function command(row: RouteRow, { query = {}, body, form }: Example, after = ''): string {
  const parameters = Object.entries({ version: row.version, ...query })
  const isGet = row.method === 'GET'
  const target = `"$BASE_URL${row.path}${isGet ? '' : `?version=${row.version}`}"`
  const lines = [
    `curl -sS ${isGet ? '-G ' : ''}${target}`,
    ...(isGet ? parameters.map(([name, value]) => `--data-urlencode "${name}=${value}"`) : []),
    `-H "PW-subscription-key: $PROJECTS_DEMO_SUBSCRIPTION_KEY"`,
    `-H 'PW-origin-country: US'`,
    `-H "PW-request-date: $(date -u '+%Y-%m-%d %H:%M:%S')"`,
    `-H 'PW-ip-address: 127.0.0.1'`,
    `-H 'User-Agent: shop/1.0'`,
    ...(row.requestIdRequired === true
      ? ['-H "PW-request-id: $(cat /proc/sys/kernel/random/uuid)"']
      : []),
    ...(row.idempotencyKey === 'required' ? [`-H "Idempotency-Key: bill-${demo.unique}"`] : []),
    ...formLines(form),
  ]
  if (body === undefined || form !== undefined) return `${lines.join(' \\\n  ')}${after}`
  const json = JSON.stringify(body, null, 2)
  const head = [...lines, `-H 'Content-Type: application/json'`, '-d @-'].join(' \\\n  ')
  return `${head} <<JSON${after}\n${json}\nJSON`
}

function formLines(form: Example['form']): string[] {
  if (form === undefined) return []
  const texts = Object.entries(form.texts).map(([name, value]) => `-F "${name}=${value}"`)
  return [...texts, ...form.files.map((name) => `-F ${name}=@${name}.pdf`)]
}

/** A body without the words of the shell, for readers who send it in another way. */
export function withoutShell(body: object): unknown {
  const text = JSON.stringify(body)
    .replaceAll(demo.unique, '1001')
    .replaceAll('$SIMULATOR_URL', 'https://shop.example')
    .replaceAll(/\$\(\(.*?%.*?\)\)/g, '2345678')
    .replaceAll(/\$([A-Z_]+)/g, '<$1>')
  return JSON.parse(text)
}
