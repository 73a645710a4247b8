// Generates the completion of a shell from the table of commands.
import type { Command, CommandContext } from '../command.ts'
import { UsageError } from '../usage-error.ts'

const shells = ['bash', 'zsh', 'fish'] as const
const programs = ['payweave', 'pw']

/** Makes the command `completion`, for these commands and itself. It throws a UsageError for an unknown shell. */
export function completionCommand(others: readonly Command[]): Command {
  const command: Command = {
    name: 'completion',
    operands: '<shell>',
    operandWords: shells,
    summary: 'Writes the completion of commands and options for bash, zsh or fish.',
    options: {},
    async run({ operands, print, json }: CommandContext): Promise<void> {
      const [shell] = operands
      const make = makers[shell as (typeof shells)[number]]
      if (make === undefined || operands.length > 1) {
        throw new UsageError(`pass one of ${shells.join(', ')}`)
      }
      const script = make([...others, command])
      print(json ? JSON.stringify({ shell, script }) : script)
    },
  }
  return command
}

const makers: Record<(typeof shells)[number], (commands: Command[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** `--name` of all options of a command. */
function optionsOf({ options, flags }: Command): string[] {
  return [...Object.keys({ ...options, ...flags }), 'json', 'help'].map((name) => `--${name}`)
}

/** What may follow what was typed: first words, words of a group, options and operands of a command. */
function followers(commands: Command[]) {
  const words = commands.map(({ name }) => name.split(' '))
  const firsts = [...new Set(words.map(([first = '']) => first))]
  const groups = firsts.flatMap((first) => {
    const seconds = words.filter((one) => one[0] === first && one.length > 1)
    return seconds.length === 0 ? [] : [{ first, words: seconds.map(([, second = '']) => second) }]
  })
  const rows = commands.map((command) => ({
    name: command.name,
    words: [...(command.operandWords ?? []), ...optionsOf(command)],
  }))
  return { firsts, groups, rows }
}

function bashScript(commands: Command[]): string {
  const { firsts, groups, rows } = followers(commands)
  const cases = rows
    .filter(({ name }) => name.includes(' '))
    .map(({ name, words }) => `    '${name}') words='${words.join(' ')}' ;;`)
  const firstCases = [
    ...groups.map((group) => ({ name: group.first, words: group.words })),
    ...rows.filter(({ name }) => !name.includes(' ')),
  ].map(({ name, words }) => `      '${name}') words='${words.join(' ')}' ;;`)
  return `# bash completion of payweave: source <(payweave completion bash)
_payweave() {
  local words='${firsts.join(' ')}' typed="\${COMP_WORDS[COMP_CWORD]}"
  if ((COMP_CWORD > 1)); then
    words=''
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${cases.join('\n')}
    *) case "\${COMP_WORDS[1]}" in
${firstCases.join('\n')}
      esac ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$typed")
}
complete -o default -F _payweave ${programs.join(' ')}`
}

function zshScript(commands: Command[]): string {
  const { firsts, groups, rows } = followers(commands)
  const cases = rows
    .filter(({ name }) => name.includes(' '))
    .map(({ name, words }) => `    '${name}') found=(${words.join(' ')}) ;;`)
  const firstCases = [
    ...groups.map((group) => ({ name: group.first, words: group.words })),
    ...rows.filter(({ name }) => !name.includes(' ')),
  ].map(({ name, words }) => `      '${name}') found=(${words.join(' ')}) ;;`)
  return `#compdef ${programs.join(' ')}
# zsh completion of payweave: source <(payweave completion zsh)
_payweave() {
  local -a found
  found=(${firsts.join(' ')})
  if (( CURRENT > 2 )); then
    found=()
    case "$words[2] $words[3]" in
${cases.join('\n')}
    *) case "$words[2]" in
${firstCases.join('\n')}
      esac ;;
    esac
  fi
  compadd -- $found
}
compdef _payweave ${programs.join(' ')}`
}

function fishScript(commands: Command[]): string {
  const lines = programs.flatMap((program) => [
    `complete -c ${program} -f`,
    ...commands.flatMap((command) => fishLines(program, command, commands)),
  ])
  return ['# fish completion of payweave: payweave completion fish | source', ...lines].join('\n')
}

const seen = (word: string) => `__fish_seen_subcommand_from ${word}`

function fishLines(program: string, command: Command, commands: Command[]): string[] {
  const [first = '', second] = command.name.split(' ')
  const others = commands
    .filter(({ name }) => name.startsWith(`${first} `))
    .map(({ name }) => name.split(' ')[1])
  const here = second === undefined ? seen(first) : `${seen(first)}; and ${seen(second)}`
  const line = (condition: string, more: string, meaning: string) =>
    `complete -c ${program} -n '${condition}' ${more} -d '${meaning.replaceAll(/['\\]/g, '\\$&')}'`
  const isOpen = `${seen(first)}; and not ${seen(others.join(' '))}`
  return [
    second === undefined
      ? line('__fish_use_subcommand', `-a ${first}`, command.summary)
      : `${line('__fish_use_subcommand', `-a ${first}`, first)}\n${line(isOpen, `-a ${second}`, command.summary)}`,
    ...(command.operandWords ?? []).map((word) => line(here, `-a ${word}`, command.name)),
    ...Object.entries({ ...command.options }).map(([name, meaning]) =>
      line(here, `-r -l ${name}`, meaning),
    ),
    ...Object.entries({ ...command.flags, json: 'one JSON object per line', help: 'its help' }).map(
      ([name, meaning]) => line(here, `-l ${name}`, meaning),
    ),
  ]
}
